"""Reading sampled stacks: which lines of the user's the time goes to, and what ran below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from torch_debugger.records import Place, SampledStacks, StackNode

LEAST_SAMPLES = 50  # to judge by: a second of training


@dataclass
class HotLine:
    """A line of the user's that was the innermost one of theirs in this many samples."""

    place: Place
    function: str
    samples: int = 0
    share: float = 0.0  # of all samples
    called: dict[str, int] = field(default_factory=dict)  # the library functions it called itself, by samples
    around: list[Place] = field(default_factory=list)  # the user's lines that led there, the innermost first


def hot_lines(stacks: SampledStacks) -> list[HotLine]:
    """The dearest first. A line in several stacks is one."""
    found: dict[tuple[str | None, int | None], HotLine] = {}
    for number, node in enumerate(stacks.nodes):
        owner = stacks.users_line(number)
        if owner is None or not node.samples:
            continue
        at = stacks.nodes[owner]
        line = found.setdefault((at.place.file, at.place.line), HotLine(at.place, at.function))
        line.around = line.around or [each.place for each in _above(stacks, owner) if each.is_users]
        line.samples += node.samples
        first = _first_below(stacks, number, owner)
        if first is not None:
            line.called[first] = line.called.get(first, 0) + node.samples
    for line in found.values():
        line.share = line.samples / max(stacks.samples, 1)
    return sorted(found.values(), key=lambda line: -line.samples)


def share_below(stacks: SampledStacks, function: str) -> float:
    """The share of samples inside of any function of this name, whoever called it: `Optimizer.zero_grad`."""
    return share_where(stacks, lambda node: node.function == function)


def share_where(stacks: SampledStacks, fits: Callable[[StackNode], bool]) -> float:
    """The share of samples that went through a node like this."""
    counted = 0
    for number, node in enumerate(stacks.nodes):
        if fits(node) and not any(map(fits, _above(stacks, number))):
            counted += node.total
    return counted / max(stacks.samples, 1)


def _above(stacks: SampledStacks, number: int) -> Iterator[StackNode]:
    """Those that led to it, the nearest first."""
    number = stacks.nodes[number].parent
    while number >= 0:
        yield stacks.nodes[number]
        number = stacks.nodes[number].parent


def _first_below(stacks: SampledStacks, number: int, owner: int) -> str | None:
    """The library function that the user's line itself called."""
    function = None
    while number != owner:
        function, number = stacks.nodes[number].function, stacks.nodes[number].parent
    return function
