"""The numbers that two runs have of the same things, step by step, in the order of a training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.comparing.batches import batch_numbers, input_numbers
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.tags import phase_of, shared_tags
from torch_debugger.records import Table, TensorRows
from torch_debugger.records.comparison_of_runs import PHASES

Array = NDArray[np.float64]
_STATS = ("mean", "std", "min", "max")
_QUIETEST = 0.1  # of the others' size: a gradient below is measured by them, as its rounding is theirs


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Some tensors at one step: numbers[tensor, column] of both runs, and the size of each tensor."""

    step: int
    phase: str
    source: str  # sights of one source are of one kind: a table of a root, a tag
    names: Sequence[str]
    others: Sequence[str]
    columns: Sequence[str]
    first: Array
    second: Array
    sizes: Array
    optimizer: str = ""  # of weights, gradients and updates

    @property
    def is_equal(self) -> bool:
        return bool(np.array_equal(self.first, self.second, equal_nan=True))


class _Shared(NamedTuple):
    """The tensors that two tables hold, in the first one's order: their places and names in both."""

    left: list[int]
    right: list[int]
    names: list[str]
    others: list[str]


class Sights:
    """Goes through two runs side by side."""

    def __init__(self, first: RunEvidence, second: RunEvidence, matching: Matching) -> None:
        self._first, self._second, self._matching = first, second, matching
        self._known: dict[tuple[int, int], _Shared] = {}
        self._tags = {tag: phase_of(tag) for tag in shared_tags(first, second)}

    def __iter__(self) -> Iterator[Sight]:
        for step in sorted(self._first.steps & self._second.steps):
            found = [sight for sight in self._at(step) if sight.first.size]
            yield from sorted(found, key=self._order(found))

    def _order(self, sights: list[Sight]) -> Callable[[Sight], float]:
        """As a step goes. With several optimizers one updates while others have not yet computed their loss:
        what is no consequence of anything in the step stands before it all."""
        several = len(self._matching.optimizers) > 1
        equal = {sight.optimizer for sight in sights if sight.phase == "gradients" and sight.is_equal}

        def place(sight: Sight) -> float:
            if several and sight.phase == "rate":
                return 0.4
            given = sight.phase == "update" and sight.optimizer in equal
            return 0.5 if several and given else PHASES.index(sight.phase)

        return place

    def _at(self, step: int) -> Iterator[Sight]:
        yield from self._parameters(step)
        yield from self._looks(step)
        yield from self._tables(step, "activation", "forward", _STATS)
        yield from self._tables(step, "output_gradient", "backward", _STATS)
        yield from self._tables(step, "update", "update", ("change",))
        yield from self._scalars(step)

    def _tables(self, step: int, kind: str, phase: str, columns: Sequence[str]) -> Iterator[Sight]:
        for ours, theirs in self._pairs(step, kind):
            yield self._sight(phase, ours, theirs, columns)

    def _pairs(self, step: int, kind: str) -> Iterator[tuple[TensorRows, TensorRows]]:
        """Tables of modules in the order in which they come, those of parameters by their optimizer."""
        ours, theirs = self._first.rows.get((kind, step), []), self._second.rows.get((kind, step), [])
        if kind not in ("parameter", "update"):
            yield from zip(ours, theirs, strict=False)
            return
        named = {rows.table.root: rows for rows in reversed(theirs)}
        for rows in ours:
            other = self._matching.optimizers.get(rows.table.root, rows.table.root)
            if other in named:
                yield rows, named[other]

    def _sight(self, phase: str, ours: TensorRows, theirs: TensorRows, columns: Sequence[str]) -> Sight:
        shared = self._shared(ours.table, theirs.table)
        both = set(ours.table.columns) & set(theirs.table.columns)
        known = [column for column in columns if column in both]
        first, second = _chosen(ours, shared.left, known), _chosen(theirs, shared.right, known)
        root = ours.table.root if phase in ("weights", "gradients", "update") else ""
        sizes = magnitudes(first, second)
        return Sight(
            ours.step, phase, f"{phase} {root}", shared.names, shared.others, known, first, second, sizes, root
        )

    def _shared(self, ours: Table, theirs: Table) -> _Shared:
        key = id(ours), id(theirs)  # a table lives as long as its rows
        if key not in self._known:
            spot = {name: place for place, name in enumerate(theirs.names)}
            both = [(i, spot.get(self._matching.other(name))) for i, name in enumerate(ours.names)]
            pairs = [(i, j) for i, j in both if j is not None]
            self._known[key] = _Shared(
                [i for i, _ in pairs],
                [j for _, j in pairs],
                [ours.names[i] for i, _ in pairs],
                [theirs.names[j] for _, j in pairs],
            )
        return self._known[key]

    def _parameters(self, step: int) -> Iterator[Sight]:
        for ours, theirs in self._pairs(step, "parameter"):
            yield self._sight("weights", ours, theirs, ("weight_norm",))
            plain = self._sight("gradients", ours, theirs, ("grad_norm",))
            yield _against_all(plain, self._sight("gradients", ours, theirs, ("elements",)).first)
            if len(self._shared(ours.table, theirs.table).left) < max(len(ours.values), len(theirs.values)):
                yield self._without_gradient(ours, theirs)

    def _without_gradient(self, ours: TensorRows, theirs: TensorRows) -> Sight:
        """Parameters that get a gradient in one run and none in the other."""
        names = self._matching.names
        left = {name: norm for name, norm in ours.by_name("grad_norm").items() if name in names}
        right = theirs.by_name("grad_norm")
        back = {to: name for name, to in names.items()}
        alone = [(name, names[name], norm, 0.0) for name, norm in left.items() if names[name] not in right]
        alone += [
            (back[to], to, 0.0, norm) for to, norm in right.items() if to in back and back[to] not in left
        ]
        first, second = (
            np.array([[row[place]] for row in alone], np.float64).reshape(-1, 1) for place in (2, 3)
        )
        source, found = "parameters with a gradient", [row[0] for row in alone]
        return Sight(
            ours.step, "gradients", source, found, [row[1] for row in alone], ["grad_norm"], first, second,
            magnitudes(first, second),
        )  # fmt: skip

    def _looks(self, step: int) -> Iterator[Sight]:
        for phase, numbers in (("batch", batch_numbers), ("input", input_numbers)):
            theirs = numbers(self._second, step)
            for name, found in numbers(self._first, step).items():
                other = self._matching.other(name)
                for group in found if other in theirs else ():
                    if group in theirs[other]:
                        yield _look(step, phase, (name, other), (group, found[group], theirs[other][group]))

    def _scalars(self, step: int) -> Iterator[Sight]:
        rows = any(True for _ in self._pairs(step, "parameter"))
        for tag, phase in self._tags.items():
            ours, theirs = self._first.curves[tag].get(step), self._second.curves[tag].get(step)
            if not phase or ours is None or theirs is None or (rows and phase in ("weights", "gradients")):
                continue
            first, second = np.array([[ours]]), np.array([[theirs]])
            yield Sight(step, phase, tag, [tag], [tag], [""], first, second, magnitudes(first, second))


def magnitudes(first: Array, second: Array) -> Array:
    """The size of each tensor: its largest number in either run that is finite."""
    both = np.abs(np.concatenate([first, second], axis=1))
    largest: Array = np.max(np.where(np.isfinite(both), both, 0.0), axis=1, initial=0.0)
    return largest


def _chosen(rows: TensorRows, places: list[int], columns: list[str]) -> Array:
    return rows.values[np.ix_(places, [rows.table.columns.index(name) for name in columns])].astype(np.float64)


def _against_all(sight: Sight, elements: Array) -> Sight:
    """The gradients' sizes, the small ones measured by all."""
    total = float(np.sqrt(np.sum(sight.sizes**2) / max(float(np.sum(elements)), 1.0)))
    floor = _QUIETEST * total * np.sqrt(elements[:, 0]) if elements.size else 0.0
    sizes = np.maximum(sight.sizes, floor)
    return replace(sight, sizes=sizes)


def _look(
    step: int, phase: str, names: tuple[str, str], numbers: tuple[str, dict[str, float], dict[str, float]]
) -> Sight:
    group, ours, theirs = numbers
    columns = [column for column in ours if column in theirs]
    first = np.array([[ours[column] for column in columns]], np.float64)
    second = np.array([[theirs[column] for column in columns]], np.float64)
    source = f"{group} of {phase} {names[0]}"
    return Sight(step, phase, source, names[:1], names[1:], columns, first, second, magnitudes(first, second))
