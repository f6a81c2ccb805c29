"""A size that is halved with a rest and doubled again comes back as another one: U-Nets and their skips."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact, FlowStep

_UNEQUAL = re.compile(
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) "
)
_JOINS = re.compile(r"\b(?:cat|concat|concatenate)\(")


@dataclass(frozen=True)
class LostRows:
    """How one dimension went through the model: 36, 18, 9, 4, 8."""

    sizes: tuple[int, ...]
    odd: int  # the size that was halved with a rest
    divisor: int  # what the first size has to be a multiple of

    @property
    def told(self) -> str:
        way = " -> ".join(str(size) for size in self.sizes)
        return (
            f"On its way through the model one dimension went {way}: {self.odd} is no even number, and "
            f"halved and doubled again it is {self.sizes[-1]}"
        )

    @property
    def multiples(self) -> str:
        below = self.sizes[0] // self.divisor * self.divisor
        near = " or ".join(str(size) for size in (below, below + self.divisor) if size)
        return f"multiples of {self.divisor} ({near} instead of {self.sizes[0]})"


def lost_rows(flow: Sequence[FlowStep], sizes: tuple[int, int]) -> LostRows | None:
    """Whether these two sizes meet because one of them was halved with a rest, and doubled again."""
    for dimension in (2, 3, 4):
        way = tuple(size for size, _ in itertools.groupby(_sizes(flow, dimension)))
        down = way[: way.index(min(way)) + 1] if way else ()
        halvings = [one for one, half in itertools.pairwise(down) if half in (one // 2, (one + 1) // 2)]
        if not halvings or len(halvings) != len(down) - 1:
            continue
        odd = next((size for size in sizes if size % 2 and size in halvings), None)
        if odd is not None and sorted((odd, way[-1])) == sorted(sizes) and abs(odd - way[-1]) == 1:
            return LostRows(way, odd, 2 ** len(halvings))
    return None


def _sizes(flow: Sequence[FlowStep], dimension: int) -> Iterator[int]:
    """Of that dimension, as the modules that have none inside of them got and made it."""
    parents = {step.path.rpartition(".")[0] for step in flow}
    for step in flow:
        for shape in (*step.given[:1], *step.made[:1]) if step.path not in parents else ():
            if len(shape) > dimension:
                yield shape[dimension]


def explain_lost_rows(crash: CrashFact) -> Blame | None:
    """For tensors that no name holds any more: skips.pop() inside of torch.cat."""
    told = _UNEQUAL.search(crash.message)
    if told is None or crash.pasted or not _JOINS.search(crash.place.code or ""):
        return None
    sizes = int(told[2]), int(told[3])
    lost = lost_rows(crash.flow, sizes)
    if lost is None:
        return None
    return Blame(
        message=f"The join at {place_text(crash.place)} meets sizes {sizes[0]} and {sizes[1]}. {lost.told}.",
        why=f"An input of {lost.sizes[0]} cannot be halved {lost.divisor.bit_length() - 1} times without a "
        "rest, and what was kept on the way down still has its size.",
        fix=f"Give the model sizes that are {lost.multiples}: resize, crop or pad. Or bring what was doubled "
        "to the size of what it joins: `torch.nn.functional.interpolate(x, size=skip.shape[2:])`.",
        where=crash.place,
        evidence={
            "input size": float(lost.sizes[0]),
            "multiple of": float(lost.divisor),
            "line": line_text(crash.place),
        },
        confidence=0.92,
    )
