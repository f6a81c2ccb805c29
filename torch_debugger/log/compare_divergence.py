"""Where two runs part: the first number that differs by more than rounding explains.

Rounding is measured, not assumed. Up to a floor of some units in the last place everything is rounding;
above it, a difference is what rounding has grown to as long as it grows smoothly out of earlier ones. What
stands out of that by a factor of ten has come in from outside: there the runs part.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.compare_records import Matching, RunEvidence, phase_of, shared_tags
from torch_debugger.records import BatchFact, BatchLook, InputLook, LossGraph, ModelFact, RootInput, Table, TensorRows
from torch_debugger.records.findings import PHASES, Extent, Gap, Parting

# Of these some tensors are rounding and nothing else (the key's bias of an attention), and Adam makes large
# updates of them. And what a loader delivers may be prepared later. They count only where what the model
# computes parts as well.
_UNCONFIRMED = frozenset({"weights", "batch", "backward", "gradients", "update"})
# A gradient that differs this plainly is a difference even where Adam, which divides by its size, hides it.
_COMPUTED, _PLAIN = frozenset({"backward", "gradients"}), 1e-3
_SOON = 10  # steps in which it must
_NOISE = 1e-3  # of a typical gradient's tenth: what should be zero and is made of rounding
_KEPT = 512  # sights that are remembered
# What must have been seen, and been equal, for a gap to be the first there is.
_BEFORE = {
    "weights": "gradients", "batch": "weights", "input": "weights", "forward": "weights", "loss": "forward",
    "backward": "forward", "gradients": "backward", "update": "gradients",
}  # fmt: skip


def find_parting(first: RunEvidence, second: RunEvidence, matching: Matching) -> Parting:
    steps = sorted(first.steps & second.steps)
    if not steps:
        return Parting("unseen", 0)
    walk = _RunWalk(steps, ToleranceGrowth(rounding_floor(first, second), initial_floor(first, second)))
    walk.through(Sights(first, second, matching))
    found = walk.parting()
    if not found.numbers:
        return Parting("unseen", 0)
    ours, theirs = (Extent(len(run.steps), min(run.steps), max(run.steps)) for run in (first, second))
    return replace(found, extents=(ours, theirs))


class _RunWalk:
    def __init__(self, steps: list[int], growth: ToleranceGrowth) -> None:
        self._steps = steps
        self._growth = growth
        self._sizes: dict[str, Array] = {}  # the largest so far: late in training all but the rounding shrinks
        self._noisy: set[str] = set()  # parameters whose gradients are nothing but rounding
        self._seen: dict[str, list[int]] = {phase: [] for phase in PHASES}  # steps
        self._passed: list[tuple[int, str, str]] = []  # (step, phase, last name) of sights without a gap
        self._numbers = 0
        self._unequal: Gap | None = None
        self._largest: Gap | None = None
        self._waiting: Gap | None = None  # for the model's outputs to confirm it
        self._waiting_source = ""
        self._harmless: Gap | None = None
        self._confirmed: Gap | None = None
        self._after, self._kept = 0, True  # the step behind the gap, and whether it begins with equal weights

    def through(self, sights: Iterable[Sight]) -> None:
        for sight in sights:
            if self._confirmed is None:
                self._see(sight)
            elif self._have_looked_after(self._confirmed, sight):
                return
        if self._confirmed is None and self._waiting and self._waiting.step == self._steps[-1]:
            self._confirmed = self._waiting  # nothing came after it that could tell

    def _have_looked_after(self, gap: Gap, sight: Sight) -> bool:
        """Are the weights of the next step equal all the same? True once that is known."""
        if sight.step <= gap.step and PHASES.index(gap.phase) < PHASES.index("rate"):
            return False
        if sight.phase != "weights" or sight.step > (self._after or sight.step) or sight.step <= gap.step:
            return True
        inside = bool((self._gaps(sight) <= self._growth.tolerance(sight)).all())
        self._after, self._kept = sight.step, self._kept and inside
        return False

    def _see(self, sight: Sight) -> None:
        gaps = self._gaps(sight)
        self._numbers += sight.first.size
        if not self._seen[sight.phase] or self._seen[sight.phase][-1] != sight.step:
            self._seen[sight.phase].append(sight.step)
        tolerance = self._growth.tolerance(sight)
        outside = np.flatnonzero(gaps.max(axis=1) > tolerance).tolist()
        if outside:
            self._met(self._gap(sight, gaps, outside[0], tolerance), sight.source)
        inside = np.where(gaps <= tolerance, gaps, 0.0)
        self._keep(sight, inside, tolerance, outside)
        if self._waiting and self._is_made_up_for(self._waiting, sight) and not outside:
            self._harmless, self._waiting = self._harmless or self._waiting, None

    def _gaps(self, sight: Sight) -> Array:
        """Each difference as a share of its tensor's size, the largest that this has had so far."""
        before = self._sizes.get(sight.source, ())
        sizes = np.maximum(sight.sizes, before) if len(before) == len(sight.sizes) else sight.sizes
        self._sizes[sight.source] = sizes
        if sight.is_equal:
            return np.zeros_like(sight.first)
        with np.errstate(all="ignore"):
            gaps = np.abs(sight.first - sight.second) / np.where(sizes > 0, sizes, 1.0)[:, None]
            alike = (sight.first == sight.second) | (np.isnan(sight.first) & np.isnan(sight.second))
        gaps = np.where(alike, 0.0, np.where(np.isfinite(gaps), gaps, np.inf))
        if sight.phase == "gradients" and sight.columns[0] == "grad_norm":
            own = np.maximum(np.abs(sight.first), np.abs(sight.second))[:, 0]
            quiet = np.flatnonzero((own > 0) & (own < _NOISE * sight.sizes)).tolist()
            self._noisy |= {sight.names[place] for place in quiet}
        noise: set[str] = self._noisy if sight.phase in _UNCONFIRMED else set()
        if sight.phase == "forward":
            noise = {parameter.rpartition(".")[0] for parameter in self._noisy}
        gaps[[place for place, name in enumerate(sight.names) if name in noise]] = 0.0
        return gaps

    def _gap(self, sight: Sight, gaps: Array, row: int, tolerance: float) -> Gap:
        column = int(np.argmax(gaps[row]))
        return Gap(
            sight.step, sight.phase, sight.names[row], sight.others[row], sight.columns[column],
            float(sight.first[row, column]), float(sight.second[row, column]),
            float(gaps[row, column]), tolerance,
        )  # fmt: skip

    def _met(self, gap: Gap, source: str) -> None:
        if gap.phase in _UNCONFIRMED and not self._is_plain(gap):
            if self._waiting is None:
                self._waiting, self._waiting_source = gap, source
        else:
            before, fits = self._waiting, False
            if before is not None:
                looks = any(before.step < step < gap.step for step in self._seen["forward"])
                fits = gap.step - before.step <= _SOON or not looks
            self._confirmed = before if fits else gap

    def _is_plain(self, gap: Gap) -> bool:
        """Initial weights are nobody's rounding, and gradients not by so much."""
        at_start = gap.phase == "weights" and gap.step == self._steps[0]
        return at_start or (gap.phase in _COMPUTED and gap.size > _PLAIN)

    def _is_made_up_for(self, waiting: Gap, sight: Sight) -> bool:
        """Batches that differ, and a model that is given or makes the same of them."""
        if waiting.phase != "batch" or waiting.step != sight.step:
            return False
        values = sight.source.startswith(VALUES) and self._waiting_source.startswith(VALUES)
        return sight.phase == "loss" or (sight.phase == "input" and values)

    def _keep(self, sight: Sight, inside: Array, tolerance: float, outside: list[int]) -> None:
        largest = float(inside.max(initial=0.0))
        self._growth.saw(sight, largest)
        if largest > 0:
            row = int(np.argmax(inside.max(axis=1) > 0))
            self._unequal = self._unequal or self._gap(sight, inside, row, tolerance)
            top = int(np.argmax(inside.max(axis=1)))
            if self._largest is None or largest > self._largest.size:
                self._largest = self._gap(sight, inside, top, tolerance)
        before = outside[0] if outside else len(sight.names)
        if before:
            self._passed.append((sight.step, sight.phase, sight.names[before - 1]))
            self._passed = self._passed[-_KEPT:]

    def parting(self) -> Parting:
        gap = self._confirmed
        unequal = self._unequal
        if gap is not None and unequal is not None and _moment(unequal) >= _moment(gap):
            unequal = None
        verdict = "parted" if gap else "rounding" if unequal or self._waiting else "same"
        whole = Parting(
            verdict,
            len(self._steps),
            self._steps[0],
            self._steps[-1],
            self._numbers,
            unequal,
            gap,
            self._largest,
            self._harmless,
            self._waiting if gap is None and self._waiting and self._waiting.size > _PLAIN else None,
        )
        return whole if gap is None else self._located(whole, gap)

    def _located(self, whole: Parting, gap: Gap) -> Parting:
        here = [(phase, name) for step, phase, name in self._passed if step == gap.step]
        equal = [phase for phase in PHASES if any(each == phase for each, _ in here) and phase != gap.phase]
        equal = [phase for phase in equal if PHASES.index(phase) < PHASES.index(gap.phase)]
        inside = [name for phase, name in here if phase == gap.phase == "forward"]
        near = max((step for step in self._seen["forward"] if step < gap.step), default=0)
        needed = _BEFORE.get(gap.phase)
        if gap.phase == "weights":
            exact = gap.step == self._steps[0] or gap.step - 1 in self._seen["gradients"]
        else:
            exact = needed is None or gap.step in self._seen[needed]
        return replace(
            whole,
            equal_phases=tuple(equal),
            last_equal=inside[-1] if inside else "",
            near_step=near,
            kept_step=self._after if self._kept else 0,
            calm_step=max((step for step in self._steps if step < gap.step), default=0),
            exact=exact,
        )


def _moment(gap: Gap) -> tuple[int, int]:
    return gap.step, PHASES.index(gap.phase)


# How large a difference may be that only rounding has made, by what it was before.
_JUMP = 10.0  # from one look to the next; rounding grows by less
_NOT_COMPUTED = frozenset({"batch", "rate"})  # not computed by the model, so rounding does not grow in them
_COUNTED = 0.02  # of a metric that counts (accuracy): one sample that turns over is no parting


class ToleranceGrowth:
    def __init__(self, floor: float, initial_floor: float) -> None:
        self._floor = floor
        self._initial_floor = initial_floor  # of the weights before anything was computed with them
        self._largest = 0.0  # of everything so far
        self._by_source: dict[str, tuple[float, float]] = {}  # its own largest, and that of everything then

    def tolerance(self, sight: Sight) -> float:
        if sight.phase in _NOT_COMPUTED:
            return self._floor
        if sight.phase == "weights" and not self._by_source:
            return self._initial_floor
        own, then = self._by_source.get(sight.source, (0.0, 0.0))
        since = max(1.0, self._largest / then) if then > 0 else 1.0
        grown = _JUMP * max(own * since, self._largest)
        if sight.phase == "evaluation" and self._largest > 0:
            grown = max(grown, _COUNTED)
        return max(self._floor, grown)

    def saw(self, sight: Sight, largest: float) -> None:
        if sight.phase in _NOT_COMPUTED or (sight.phase == "weights" and not self._by_source and not largest):
            return
        own, _ = self._by_source.get(sight.source, (0.0, 0.0))
        self._largest = max(self._largest, largest)
        self._by_source[sight.source] = max(own, largest), self._largest


# What another order of the same sums makes at once, by the kind of numbers and the machines.

# As a share of a tensor's largest number. Of half precision one unit in the last place, which its statistics
# over many elements hardly reach; of float32, which is also what the log keeps, some units.
_SINGLE = 16 * 2.0**-23
_HALVES = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
_OTHER_DEVICE = 2.0**-9  # convolutions on an accelerator round what they multiply to ten bits (TF32)


def rounding_floor(first: RunEvidence, second: RunEvidence) -> float:
    kinds = _kinds(first) | _kinds(second)
    floors = [_SINGLE, *(_HALVES[kind] for kind in kinds if kind in _HALVES)]
    return max([*floors, _OTHER_DEVICE] if _machines(first) != _machines(second) else floors)


def initial_floor(first: RunEvidence, second: RunEvidence) -> float:
    """Weights of one kind are not rounded before they are first used."""
    return _SINGLE if _parameters(first) == _parameters(second) else rounding_floor(first, second)


def _parameters(run: RunEvidence) -> set[str]:
    return {each.dtype for fact in run.facts(ModelFact) for each in fact.parameters}


def _kinds(run: RunEvidence) -> set[str]:
    """Of the parameters, of layers where it was noted, and of what the loss was computed from (autocast)."""
    layers = {dtype for found in run.rows.values() for rows in found for dtype in rows.table.dtypes}
    computed = {each.dtype for graph in run.facts(LossGraph) for each in graph.locals if each.requires_grad}
    return _parameters(run) | layers | computed


def _machines(run: RunEvidence) -> tuple[str, ...]:
    device = run.run.device if run.run else ""
    hardware = run.surroundings.hardware if run.surroundings and device != "cpu" else {}
    return device, *(name for part, name in hardware.items() if part.startswith("gpu"))


# The numbers that two runs have of the same things, step by step, in the order of a training step.
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
            same_optimizer = sight.phase == "update" and sight.optimizer in equal
            return 0.5 if several and same_optimizer else PHASES.index(sight.phase)

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
            # The gradients' sizes, the small ones measured by all.
            plain = self._sight("gradients", ours, theirs, ("grad_norm",))
            elements = self._sight("gradients", ours, theirs, ("elements",)).first
            total = float(np.sqrt(np.sum(plain.sizes**2) / max(float(np.sum(elements)), 1.0)))
            floor = _QUIETEST * total * np.sqrt(elements[:, 0]) if elements.size else 0.0
            yield replace(plain, sizes=np.maximum(plain.sizes, floor))
            if len(self._shared(ours.table, theirs.table).left) < max(len(ours.values), len(theirs.values)):
                yield self._without_gradient(ours, theirs)

    def _without_gradient(self, ours: TensorRows, theirs: TensorRows) -> Sight:
        """Parameters that get a gradient in one run and none in the other."""
        names = self._matching.names
        left = {name: norm for name, norm in ours.by_name("grad_norm").items() if name in names}
        right = theirs.by_name("grad_norm")
        back = {to: name for name, to in names.items()}
        alone = [(name, names[name], norm, 0.0) for name, norm in left.items() if names[name] not in right]
        alone += [(back[to], to, 0.0, norm) for to, norm in right.items() if to in back and back[to] not in left]
        first, second = (np.array([[row[place]] for row in alone], np.float64).reshape(-1, 1) for place in (2, 3))
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


def _look(
    step: int, phase: str, names: tuple[str, str], numbers: tuple[str, dict[str, float], dict[str, float]]
) -> Sight:
    group, ours, theirs = numbers
    columns = [column for column in ours if column in theirs]
    first = np.array([[ours[column] for column in columns]], np.float64)
    second = np.array([[theirs[column] for column in columns]], np.float64)
    source = f"{group} of {phase} {names[0]}"
    return Sight(step, phase, source, names[:1], names[1:], columns, first, second, magnitudes(first, second))


# What went into a model at a step, as numbers by name: batches of the loaders, inputs of the model.
VALUES, WHOLE = "values", "whole numbers"
Groups = dict[str, dict[str, float]]  # shape, values, whole numbers, labels: numbers that are measured by one another


def batch_numbers(run: RunEvidence, step: int) -> dict[str, Groups]:
    """batch[0], batch[1], and for the second batch of a step "batch[0] (2)"."""
    named = _numbered((fact.name, _groups(fact)) for fact in run.looks_at(BatchFact, step))
    looked = _numbered(
        (tensor.name, {"labels": {f"label {place}": float(label) for place, label in enumerate(tensor.labels)}})
        for look in run.looks_at(BatchLook, step)
        if look.trained
        for tensor in look.tensors
        if tensor.labels
    )
    return {name: named.get(name, {}) | looked.get(name, {}) for name in {**named, **looked}}


def input_numbers(run: RunEvidence, step: int) -> dict[str, Groups]:
    """By the layer that is given them; else by the model."""
    layers = _numbered((look.layer, _groups(look)) for look in run.looks_at(InputLook, step))
    return layers or _numbered(
        (look.root, {"shape": _elements(look.shape), VALUES: {"mean": look.mean, "std": look.std}})
        for look in run.looks_at(RootInput, step)
        if look.trained
    )


def _groups(fact: BatchFact | InputLook) -> Groups:
    values = {"mean": fact.mean, "std": fact.std, "min": fact.minimum, "max": fact.maximum}
    return {"shape": _elements(fact.shape), VALUES if "float" in fact.dtype else WHOLE: values}


def _elements(shape: tuple[int, ...]) -> dict[str, float]:
    return {"elements": float(math.prod(shape))}


def _numbered(found: Iterator[tuple[str, Groups]]) -> dict[str, Groups]:
    seen: Counter[str] = Counter()
    named: dict[str, Groups] = {}
    for name, groups in found:
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name} ({seen[name]})"] = groups
    return named
