"""Which lines of the user's a wait for data is spent in, where the training process loads it itself."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.loading import Loading
from torch_debugger.checks.state import RunState
from torch_debugger.records import Place, SampledStacks

_LOADER_FILE, _ASKED = "dataloader.py", "__next__"
_LEAST_SAMPLES = 25  # of waits: half a second


@dataclass(frozen=True)
class WaitLine:
    place: Place
    function: str
    share: float  # of the samples in which data was waited for


def lines_of_wait(stacks: SampledStacks) -> tuple[list[WaitLine], int]:
    """Each line of the user's that waits went through, from the loop inwards, and the number of samples."""
    totals: dict[tuple[str | None, int | None], list[int]] = {}
    first: dict[tuple[str | None, int | None], tuple[int, Place, str]] = {}
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
            totals.setdefault(key, []).append(node.total)
            first.setdefault(key, (depth[-1], node.place, node.function))
    ordered = sorted(totals, key=lambda key: first[key][0])
    return [
        WaitLine(first[key][1], first[key][2], sum(totals[key]) / max(waited, 1)) for key in ordered
    ], waited


def slow_line(state: RunState, loading: Loading, least_share: float = 0.6) -> WaitLine | None:
    """The innermost line that most of the wait is spent in, or below; None where none stands out."""
    stacks = state.sampled.get("training")
    if stacks is None or loading.fact.workers:
        return None
    lines, waited = lines_of_wait(stacks)
    large = [line for line in lines if line.share >= least_share]
    return large[-1] if large and waited >= _LEAST_SAMPLES else None


def words_of_line(state: RunState, loading: Loading) -> str:
    line = slow_line(state, loading)
    if line is None:
        return ""
    code = f"`{line.place.code}` at " if line.place.code else ""
    return f", {line.share:.0%} of that time in {code}{line.place.file}:{line.place.line}"
