"""One point compared both ways, down to a verdict: right, wrong there, or on a kink."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from torch_debugger.trials.gradcheck_differences import (
    Directions,
    Point,
    Slot,
    Steps,
    Suspicion,
    fineness,
    is_kink,
    is_staircase,
)
from torch_debugger.trials.gradcheck_mistakes import (
    Culprit,
    Search,
    draw_sample,
    gap,
    one_at,
    only,
    recognise,
    sound_step,
)
from torch_debugger.trials.gradcheck_result import Mismatch, Problem


@dataclass(frozen=True)
class Tolerance:
    """An element is wrong when it is off by more than atol + rtol * its size."""

    eps: float | None = None
    atol: float | None = None  # None: what rounding explains
    rtol: float = 1e-3

    def forgives(self, culprit: Culprit, point: Point) -> bool:
        floor = self.atol if self.atol is not None else fineness(point) * culprit.typical
        size = max(abs(culprit.analytical), abs(culprit.numerical))
        allowed = floor + self.rtol * size + 3 * culprit.error
        return gap(culprit.analytical, culprit.numerical) <= allowed

    def cannot_forgive(self, suspicion: Suspicion) -> bool:
        """Too much in sum, though no single element stands out: nobody asked to forgive that."""
        return suspicion.trusted and self.atol is None and suspicion.off_by > 10 * self.rtol


@dataclass(frozen=True)
class Kink:
    """An input that lies where the function has no derivative, or at the edge of its domain."""

    leaf: Slot
    place: int | None = None  # None: some element of it

    @property
    def spelled(self) -> str:
        return f"`{self.leaf.name}`" if self.place is None else f"`{self.leaf.spelled(self.place)}`"


@dataclass
class Comparison:
    """What one point showed."""

    mismatches: list[Mismatch] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    kinks: list[Kink] = field(default_factory=list)
    within_tolerance: float = 0.0  # off by more than rounding, by less than what was asked for
    close_to: float = 0.0


def compare(point: Point, tolerance: Tolerance, *, at_first: bool) -> Comparison:
    """`at_first`: at the caller's own point, where zeros and ties are likelier than beside it."""
    return _Comparing(point, tolerance, at_first).carried_out()


class _Comparing:
    def __init__(self, point: Point, tolerance: Tolerance, at_first: bool) -> None:
        self._point = point
        self._tolerance = tolerance
        self._at_first = at_first
        self._steps = Steps(point, tolerance.eps)
        self._found = Comparison()

    def carried_out(self) -> Comparison:
        directions = Directions(self._point, self._steps)
        for suspicion in directions.suspicions():
            if self._settle(suspicion):
                break
        self._found.close_to = directions.close_to
        return self._found

    def _settle(self, suspicion: Suspicion) -> bool:
        """Follows one suspicion to its end; True when no other needs to be looked at."""
        step = sound_step(self._point, suspicion.direction, self._steps.usual)
        if step is None:
            self._found.kinks = [Kink(slot) for slot in self._point.x]
            return True
        if is_staircase(self._point, suspicion.direction, step):
            self._found.problems.append(_too_coarse())
            return True
        not_linear = what_is_not_linear(self._point, suspicion.weights)
        if not_linear is not None:
            self._found.problems.append(not_linear)
            return True
        search = Search(self._point, self._steps, suspicion, step)
        culprits = search.culprits()
        self._found.kinks = self._kinks(suspicion, culprits, step)
        return bool(self._found.kinks) or self._blame(suspicion, search, culprits)

    def _blame(self, suspicion: Suspicion, search: Search, culprits: list[Culprit]) -> bool:
        wrong = [culprit for culprit in culprits if not self._tolerance.forgives(culprit, self._point)]
        if not wrong and self._tolerance.cannot_forgive(suspicion):
            wrong = culprits[:1]
        self._found.mismatches = [_mismatch(self._point, search, culprit) for culprit in wrong]
        self._found.within_tolerance = max(self._found.within_tolerance, suspicion.off_by)
        return bool(wrong)

    def _kinks(self, suspicion: Suspicion, culprits: list[Culprit], step: float) -> list[Kink]:
        point = self._point
        found = []
        for culprit in culprits:
            along = one_at(point.inputs, culprit.place, float(self._steps.scales[culprit.place]))
            if is_kink(point, along, one_at(point.at_point, culprit.out_place), step):
                found.append(Kink(culprit.leaf, culprit.place))
            elif self._at_first:
                # Another element of this input may lie on one: it would blur what the others show.
                along = only(suspicion.direction, culprit.leaf.start, culprit.leaf.stop)
                found += [Kink(culprit.leaf)] * is_kink(point, along, culprit.weights, step)
        return found


def _too_coarse() -> Problem:
    return Problem(
        "coarse",
        "the outputs stand still for small changes of the inputs and jump for larger ones: it rounds to half "
        "precision or to fixed levels inside, and differences cannot see its gradient.",
        "Let it compute in the dtype of its inputs while it is checked: no `.half()`, `.bfloat16()`, "
        "autocast or "
        "quantization inside.",
    )


def _mismatch(point: Point, search: Search, culprit: Culprit) -> Mismatch:
    sample = draw_sample(point, search, culprit)
    return Mismatch(
        input=culprit.leaf.name,
        output=culprit.output.name,
        element=culprit.leaf.spelled(culprit.place),
        output_element=culprit.output.spelled(culprit.out_place),
        analytical=culprit.analytical,
        numerical=culprit.numerical,
        relative_error=culprit.relative_error if math.isfinite(culprit.relative_error) else math.inf,
        wrong=max(1, int(sample.wrong.sum())),
        tried=len(sample.places),
        total=culprit.leaf.stop - culprit.leaf.start,
        pattern=recognise(sample),
    )


# Backward is a linear map of the incoming gradient; where it is not, that says it all.
_SAME = 1e-6


def what_is_not_linear(point: Point, weights: torch.Tensor) -> Problem | None:
    plain = point.pull(weights)
    if not bool(torch.isfinite(plain).all()):
        return None
    doubled = point.pull(weights * 2)
    from_nothing = point.pull(torch.zeros_like(weights))
    for slot in point.x:
        part = slice(slot.start, slot.stop)
        if bool(plain[part].any()) and torch.equal(doubled[part], plain[part]):
            return _unused(slot)
        if bool(from_nothing[part].any()):
            return _added(slot)
    size = float(plain.abs().max())
    stretched = [point.pull(weights * by) / by for by in (1e3, 1e-3)]
    if all(float((other - plain).abs().max()) <= _SAME * size for other in stretched):
        return None
    return _clipped(_hands_on(point))


def _unused(slot: Slot) -> Problem:
    return Problem(
        "grad-output-unused",
        f"the gradient of `{slot.name}` does not depend on the incoming gradient: `grad_output` is not used.",
        "Multiply the local derivative by `grad_output`. Backward gets the gradient of the loss by its "
        "output, and "
        "hands on that of the loss by its input: the chain rule.",
    )


def _added(slot: Slot) -> Problem:
    return Problem(
        "constant-term",
        f"backward adds something to the gradient of `{slot.name}` that is there even when `grad_output` is 0.",
        f"Every term of the gradient of `{slot.name}` must have `grad_output` as a factor.",
    )


def _clipped(deliberate: bool) -> Problem:
    return Problem(
        "not-linear",
        "backward is not linear in the incoming gradient: twice as much does not give twice the result. It "
        "may be "
        "right for small gradients and wrong for large ones.",
        "Take clipping, normalising or rounding of `grad_output` out of `backward`, if it is not there on purpose.",
        deliberate,
    )


def _hands_on(point: Point) -> bool:
    """Forward returns its input as it is: who writes that, writes it for the sake of the backward."""
    return any(
        point.at_point.shape == point.inputs[slot.start : slot.stop].shape
        and torch.equal(point.at_point, point.inputs[slot.start : slot.stop])
        for slot in point.x
    )
