"""Which lines of the user's a wait for data is spent in, where the training process loads it itself."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.loading import Loading
from torch_debugger.checks.state import RunState
from torch_debugger.records import Place, SampledStacks, StackNode

_LOADER_FILE, _ASKED = "dataloader.py", "__next__"
_LEAST_SAMPLES = 25  # of waits: half a second


@dataclass(frozen=True)
class WaitLine:
    place: Place
    function: str
    share: float  # of the samples in which data was waited for


def lines_of_wait(stacks: SampledStacks) -> tuple[list[WaitLine], int]:
    """Each line of the user's that waits went through, from the loop inwards, and the number of samples."""
    found: dict[tuple[str | None, int | None], tuple[int, StackNode, int]] = {}
    depth: list[int] = []  # 0: outside of a wait; else how far within
    waited = 0
    for node in stacks.nodes:
        above = depth[node.parent] if node.parent >= 0 else 0
        asks = node.function.endswith(_ASKED) and (node.place.file or "").endswith(_LOADER_FILE)
        depth.append(above + 1 if above or asks else 0)
        if asks and not above:
            waited += node.total
        elif above and node.is_users:
            key = (node.place.file, node.place.line)
            at_depth, first, total = found.get(key, (depth[-1], node, 0))
            found[key] = (at_depth, first, total + node.total)
    ordered = sorted(found.values(), key=lambda line: line[0])
    return [WaitLine(node.place, node.function, min(1.0, total / waited)) for _, node, total in ordered], waited


def lines_to_judge(state: RunState, loading: Loading) -> list[WaitLine] | None:
    """None where workers load, or too little was seen of the waits."""
    stacks = state.sampled.get("training")
    if stacks is None or loading.fact.workers:
        return None
    lines, waited = lines_of_wait(stacks)
    return lines if waited >= _LEAST_SAMPLES else None


def slow_line(state: RunState, loading: Loading, least_share: float = 0.6) -> WaitLine | None:
    """The innermost line that most of the wait is spent in, or below; None where none stands out."""
    lines = lines_to_judge(state, loading) or []
    large = [line for line in lines if line.share >= least_share]
    return large[-1] if large else None


def words_of_line(state: RunState, loading: Loading) -> str:
    line = slow_line(state, loading)
    if line is None:
        return ""
    return f", {line.share:.0%} of that time in {told(line.place)}"


def told(place: Place) -> str:
    return f"`{place.code}` at {place.file}:{place.line}" if place.code else f"{place.file}:{place.line}"
