"""One point compared both ways, down to a verdict: right, wrong there, or on a kink."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from torch_debugger.trials.gradcheck_differences import (
    DifferenceSteps,
    Directions,
    GradcheckPoint,
    Slot,
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

    def forgives(self, culprit: Culprit, point: GradcheckPoint) -> bool:
        floor = self.atol if self.atol is not None else fineness(point) * culprit.typical
        size = max(abs(culprit.analytical), abs(culprit.numerical))
        allowed = floor + self.rtol * size + 3 * culprit.error
        return gap(culprit.analytical, culprit.numerical) <= allowed


@dataclass(frozen=True)
class Kink:
    """An input that lies where the function has no derivative, or at the edge of its domain."""

    leaf: Slot
    place: int | None = None  # None: some element of it

    @property
    def spelled(self) -> str:
        return f"`{self.leaf.name}`" if self.place is None else f"`{self.leaf.spelled(self.place)}`"


@dataclass
class PointComparison:
    """What one point showed."""

    mismatches: list[Mismatch] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    kinks: list[Kink] = field(default_factory=list)
    within_tolerance: float = 0.0  # off by more than rounding, by less than what was asked for
    close_to: float = 0.0


def compare(point: GradcheckPoint, tolerance: Tolerance, *, at_first: bool) -> PointComparison:
    """`at_first`: at the caller's own point, where zeros and ties are likelier than beside it."""
    steps, found = DifferenceSteps(point, tolerance.eps), PointComparison()
    directions = Directions(point, steps)
    for suspicion in directions.suspicions():
        _follow(point, tolerance, steps, suspicion, found, at_first)
        if found.mismatches or found.problems or found.kinks:
            break
    found.close_to = directions.close_to
    return found


def _follow(
    point: GradcheckPoint,
    tolerance: Tolerance,
    steps: DifferenceSteps,
    suspicion: Suspicion,
    found: PointComparison,
    at_first: bool,
) -> None:
    """To the elements that are wrong, or to what keeps them from being compared."""
    step = sound_step(point, suspicion.direction, steps.usual)
    if step is None:
        found.kinks = [Kink(slot) for slot in point.x]
        return
    if is_staircase(point, suspicion.direction, step):
        found.problems.append(_TOO_COARSE)
        return
    not_linear = _what_is_not_linear(point, suspicion.weights)
    if not_linear is not None:
        found.problems.append(not_linear)
        return
    search = Search(point, steps, suspicion, step)
    culprits = search.culprits()
    for culprit in culprits:
        along = one_at(point.inputs, culprit.place, float(steps.scales[culprit.place]))
        if is_kink(point, along, one_at(point.at_point, culprit.out_place), step):
            found.kinks.append(Kink(culprit.leaf, culprit.place))
        elif at_first:
            # Another element of this input may lie on one: it would blur what the others show.
            along = only(suspicion.direction, culprit.leaf.start, culprit.leaf.stop)
            found.kinks += [Kink(culprit.leaf)] * is_kink(point, along, culprit.weights, step)
    if found.kinks:
        return
    wrong = [culprit for culprit in culprits if not tolerance.forgives(culprit, point)]
    if not wrong and suspicion.trusted and tolerance.atol is None and suspicion.off_by > 10 * tolerance.rtol:
        wrong = culprits[:1]  # too much in sum, though no element stands out: nobody asked to forgive that
    found.mismatches = [_mismatch(point, search, culprit) for culprit in wrong]
    found.within_tolerance = max(found.within_tolerance, suspicion.off_by)


_TOO_COARSE = Problem(
    "coarse",
    "the outputs stand still for small changes of the inputs and jump for larger ones: it rounds to half precision or "
    "to fixed levels inside, and differences cannot see its gradient.",
    "Let it compute in the dtype of its inputs while it is checked: no `.half()`, `.bfloat16()`, autocast or "
    "quantization inside.",
)


def _mismatch(point: GradcheckPoint, search: Search, culprit: Culprit) -> Mismatch:
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


def _what_is_not_linear(point: GradcheckPoint, weights: torch.Tensor) -> Problem | None:
    plain = point.pull(weights)
    if not bool(torch.isfinite(plain).all()):
        return None
    doubled = point.pull(weights * 2)
    from_nothing = point.pull(torch.zeros_like(weights))
    for slot in point.x:
        part = slice(slot.start, slot.stop)
        if bool(plain[part].any()) and torch.equal(doubled[part], plain[part]):
            return Problem(
                "grad-output-unused",
                f"the gradient of `{slot.name}` does not depend on the incoming gradient: `grad_output` is not used.",
                "Multiply the local derivative by `grad_output`. Backward gets the gradient of the loss by its output, "
                "and hands on that of the loss by its input: the chain rule.",
            )
        if bool(from_nothing[part].any()):
            return Problem(
                "constant-term",
                f"backward adds something to the gradient of `{slot.name}` that is there even when `grad_output` is 0.",
                f"Every term of the gradient of `{slot.name}` must have `grad_output` as a factor.",
            )
    size = float(plain.abs().max())
    stretched = [point.pull(weights * by) / by for by in (1e3, 1e-3)]
    if all(float((other - plain).abs().max()) <= _SAME * size for other in stretched):
        return None
    return Problem(
        "not-linear",
        "backward is not linear in the incoming gradient: twice as much does not give twice the result. It may be "
        "right for small gradients and wrong for large ones.",
        "Take clipping, normalising or rounding of `grad_output` out of `backward`, if it is not there on purpose.",
        # a forward that returns its input as it is was written for the sake of its backward
        deliberate=any(torch.equal(point.at_point, point.inputs[slot.start : slot.stop]) for slot in point.x),
    )
