"""Where two runs part: the first number that differs by more than rounding explains.

Rounding is measured, not assumed. Up to a floor of some units in the last place everything is rounding;
above it, a difference is what rounding has grown to as long as it grows smoothly out of earlier ones. What
stands out of that by a factor of ten has come in from outside: there the runs part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from torch_debugger.archive.comparing.batches import VALUES
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.growth import Growth
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.rounding import initial_floor, rounding_floor
from torch_debugger.archive.comparing.sights import Array, Sight, Sights
from torch_debugger.records.comparison_of_runs import PHASES, Extent, Gap, Parting

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
    walk = _Walk(steps, Growth(rounding_floor(first, second), initial_floor(first, second)))
    walk.through(Sights(first, second, matching))
    found = walk.parting()
    return replace(found, extents=(_extent(first), _extent(second))) if found.numbers else Parting("unseen", 0)


def _extent(run: RunEvidence) -> Extent:
    return Extent(len(run.steps), min(run.steps), max(run.steps))


class _Walk:
    def __init__(self, steps: list[int], growth: Growth) -> None:
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
        sizes = np.maximum(sight.sizes, self._sizes.get(sight.source, 0.0) if self._same_length(sight) else 0.0)
        self._sizes[sight.source] = sizes
        if sight.is_equal:
            return np.zeros_like(sight.first)
        with np.errstate(all="ignore"):
            gaps = np.abs(sight.first - sight.second) / np.where(sizes > 0, sizes, 1.0)[:, None]
            alike = (sight.first == sight.second) | (np.isnan(sight.first) & np.isnan(sight.second))
        gaps = np.where(alike, 0.0, np.where(np.isfinite(gaps), gaps, np.inf))
        self._notice_noise(sight)
        if self._noisy:
            gaps[[place for place, name in enumerate(sight.names) if self._is_noise(name, sight.phase)]] = 0.0
        return gaps

    def _same_length(self, sight: Sight) -> bool:
        return len(self._sizes.get(sight.source, ())) == len(sight.sizes)

    def _notice_noise(self, sight: Sight) -> None:
        if sight.phase != "gradients" or sight.columns[0] != "grad_norm":
            return
        own = np.maximum(np.abs(sight.first), np.abs(sight.second))[:, 0]
        quiet = np.flatnonzero((own > 0) & (own < _NOISE * sight.sizes)).tolist()
        self._noisy |= {sight.names[place] for place in quiet}

    def _is_noise(self, name: str, phase: str) -> bool:
        if phase == "forward":
            return any(parameter.rpartition(".")[0] == name for parameter in self._noisy)
        return phase in _UNCONFIRMED and name in self._noisy

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
            fits = self._waiting is not None and self._is_near(self._waiting, gap.step)
            self._confirmed = self._waiting if fits else gap

    def _is_plain(self, gap: Gap) -> bool:
        """Initial weights are nobody's rounding, and gradients not by so much."""
        at_start = gap.phase == "weights" and gap.step == self._steps[0]
        return at_start or (gap.phase in _COMPUTED and gap.size > _PLAIN)

    def _is_near(self, gap: Gap, step: int) -> bool:
        looks = [each for each in self._seen["forward"] if gap.step < each < step]
        return step - gap.step <= _SOON or not looks

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
        unequal = self._unequal if gap is None or _comes_before(self._unequal, gap) else None
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
        return replace(
            whole,
            equal_phases=tuple(equal),
            last_equal=inside[-1] if inside else "",
            near_step=near,
            kept_step=self._after if self._kept else 0,
            calm_step=max((step for step in self._steps if step < gap.step), default=0),
            exact=self._is_exact(gap),
        )

    def _is_exact(self, gap: Gap) -> bool:
        needed = _BEFORE.get(gap.phase)
        at_start = gap.step == self._steps[0]
        if gap.phase == "weights":
            return at_start or gap.step - 1 in self._seen["gradients"]
        return needed is None or gap.step in self._seen[needed]


def _comes_before(unequal: Gap | None, gap: Gap) -> bool:
    return unequal is not None and _moment(unequal) < _moment(gap)


def _moment(gap: Gap) -> tuple[int, int]:
    return gap.step, PHASES.index(gap.phase)
