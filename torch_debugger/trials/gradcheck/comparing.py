"""One point compared both ways, down to a verdict: right, wrong there, or on a kink."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from torch_debugger.trials.gradcheck.culprit import Culprit, Search, gap, one_at, sound_step
from torch_debugger.trials.gradcheck.directions import Directions, Suspicion, fineness
from torch_debugger.trials.gradcheck.patterns import recognise
from torch_debugger.trials.gradcheck.point import Point
from torch_debugger.trials.gradcheck.result import Mismatch, Problem
from torch_debugger.trials.gradcheck.rows import Slot
from torch_debugger.trials.gradcheck.sample import draw_sample
from torch_debugger.trials.gradcheck.slopes import Steps, is_kink


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


def compare(point: Point, tolerance: Tolerance) -> Comparison:
    steps = Steps(point, tolerance.eps)
    directions = Directions(point, steps)
    found = Comparison()
    for suspicion in directions.suspicions():
        if _settle(point, steps, tolerance, suspicion, found):
            break
    found.close_to = directions.close_to
    return found


def _settle(point: Point, steps: Steps, tolerance: Tolerance, suspicion: Suspicion, found: Comparison) -> bool:
    """Follows one suspicion to its end; True when no other needs to be looked at."""
    step = sound_step(point, suspicion.direction, steps.usual)
    if step is None:
        found.kinks = [Kink(slot) for slot in point.x]
        return True
    search = Search(point, steps, suspicion, step)
    culprits = search.culprits()
    found.kinks = [
        Kink(culprit.leaf, culprit.place) for culprit in culprits if _on_kink(point, steps, culprit, step)
    ]
    if found.kinks:
        return True
    wrong = [culprit for culprit in culprits if not tolerance.forgives(culprit, point)]
    if not wrong and not _is_linear(point, suspicion.weights):
        found.problems.append(_not_linear())
        return True
    if not wrong and _is_beyond_doubt(suspicion, tolerance):
        wrong = culprits[:1]
    found.mismatches = [_mismatch(point, search, culprit) for culprit in wrong]
    found.within_tolerance = max(found.within_tolerance, suspicion.off_by)
    return bool(wrong)


def _is_beyond_doubt(suspicion: Suspicion, tolerance: Tolerance) -> bool:
    """Too much in sum, though no single element stands out: nobody asked to forgive that."""
    return suspicion.trusted and tolerance.atol is None and suspicion.off_by > 10 * tolerance.rtol


def _on_kink(point: Point, steps: Steps, culprit: Culprit, step: float) -> bool:
    direction = one_at(point.inputs, culprit.place, float(steps.scales[culprit.place]))
    return is_kink(point, direction, one_at(point.at_point, culprit.out_place), step)


def _is_linear(point: Point, weights: torch.Tensor) -> bool:
    """Backward is a linear map of the incoming gradient; clipping or normalising it is not."""
    plain = point.pull(weights)
    size = float(plain.abs().max())
    stretched = [point.pull(weights * by) / by for by in (1e3, 1e-3)]
    return all(float((other - plain).abs().max()) <= 1e-6 * size for other in stretched)


def _not_linear() -> Problem:
    return Problem(
        "not-linear",
        "backward is not linear in the gradient it is given: twice the incoming gradient does not give twice "
        "the "
        "result. It is right for small incoming gradients and wrong for others.",
        "Take clipping, normalising or rounding of `grad_output` out of `backward`, if it is not there on "
        "purpose.",
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
