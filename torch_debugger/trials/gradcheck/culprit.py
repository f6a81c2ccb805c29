"""From a direction that disagrees to the element that is wrong, by halving."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from torch_debugger.trials.gradcheck.directions import Suspicion, fineness
from torch_debugger.trials.gradcheck.point import Point
from torch_debugger.trials.gradcheck.rows import Slot
from torch_debugger.trials.gradcheck.slopes import Steps, careful_slope, central_difference

_SHORTENINGS = 6


@dataclass(frozen=True)
class Culprit:
    """One entry of the Jacobian on which backward and the differences disagree."""

    leaf: Slot
    output: Slot
    place: int  # in the row of inputs
    out_place: int  # in the row of outputs
    analytical: float
    numerical: float
    error: float  # how far off the numerical value may be
    typical: float  # the largest derivative of this output by anything near: what "small" is measured by
    weights: torch.Tensor  # the output gradient that brought it to light, on this output alone
    gradient: torch.Tensor  # what backward made of it

    @property
    def relative_error(self) -> float:
        largest = max(abs(self.analytical), abs(self.numerical))
        return gap(self.analytical, self.numerical) / largest if largest else 0.0


def gap(analytical: float, numerical: float) -> float:
    difference = abs(analytical - numerical)
    return difference if math.isfinite(difference) else math.inf


def sound_step(point: Point, direction: torch.Tensor, usual: float) -> float | None:
    """The usual step, shortened where it leaves the domain of the function; None at its very edge."""
    for shortening in range(_SHORTENINGS):
        step = usual / 16.0**shortening
        if bool(torch.isfinite(central_difference(point, direction, step)).all()):
            return step
    return None


class Search:
    def __init__(self, point: Point, steps: Steps, suspicion: Suspicion, step: float) -> None:
        self._point = point
        self._steps = steps
        self._direction = suspicion.direction
        self._weights = [only(suspicion.weights, slot.start, slot.stop) for slot in point.y]
        self._gradients = [point.pull(weights) for weights in self._weights]
        self._step = step

    def culprits(self) -> list[Culprit]:
        """One for each wrong leaf, the most wrong first."""
        rated = [
            (rating, leaf, output) for leaf in self._point.x for rating, output in [self._worst_output(leaf)]
        ]
        worst = max(rated, key=lambda entry: entry[0])
        wrong = [entry for entry in rated if entry[0] > 1.0] or [worst]
        wrong.sort(key=lambda entry: -entry[0])
        return [self._narrowed(leaf, output) for _, leaf, output in wrong]

    def _worst_output(self, leaf: Slot) -> tuple[float, int]:
        """How many times the allowed difference, at the output where it is most."""
        direction = only(self._direction, leaf.start, leaf.stop)
        change = central_difference(self._point, direction, self._step)
        ratings = [self._rating(direction, change, output) for output in range(len(self._point.y))]
        worst = max(range(len(ratings)), key=lambda output: ratings[output])
        return ratings[worst], worst

    def _rating(self, direction: torch.Tensor, change: torch.Tensor, output: int) -> float:
        terms = self._gradients[output] * direction
        numerical = float(self._weights[output] @ change)
        scale = float(torch.linalg.vector_norm(terms)) + abs(numerical)
        noise = float(torch.linalg.vector_norm(self._weights[output] * self._point.at_point))
        allowed = fineness(self._point) * scale + 100 * self._point.precision * noise / self._step
        return gap(float(terms.sum()), numerical) / allowed if allowed else 0.0

    def _narrowed(self, leaf: Slot, output: int) -> Culprit:
        weights, gradient = self._weights[output], self._gradients[output]

        def input_gap(start: int, stop: int) -> float:
            direction = only(self._direction, start, stop)
            change = central_difference(self._point, direction, self._step)
            return gap(float(gradient @ direction), float(weights @ change))

        place = _halved(leaf.start, leaf.stop, input_gap)
        column = self.column(place)

        def output_gap(start: int, stop: int) -> float:
            part = only(weights, start, stop)
            return gap(float(self._point.pull(part)[place]), float(part @ column))

        slot = self._point.y[output]
        out_place = _halved(slot.start, slot.stop, output_gap)
        analytical, numerical, error = self._entry(place, out_place)
        typical = float(column.abs().max())
        return Culprit(
            leaf, slot, place, out_place, analytical, numerical, error, typical, weights, gradient
        )  # fmt: skip

    def column(self, place: int) -> torch.Tensor:
        """The derivative of every output by one input."""
        scale = float(self._steps.scales[place])
        return central_difference(self._point, one_at(self._point.inputs, place, scale), self._step) / scale

    def _entry(self, place: int, out_place: int) -> tuple[float, float, float]:
        unit = one_at(self._point.at_point, out_place)
        analytical = float(self._point.pull(unit)[place])
        scale = float(self._steps.scales[place])
        direction = one_at(self._point.inputs, place, scale)
        numerical, error = careful_slope(self._point, direction, unit, self._step)
        return analytical, numerical / scale, error / scale


def _halved(start: int, stop: int, gap_of: Callable[[int, int], float]) -> int:
    while stop - start > 1:
        middle = (start + stop) // 2
        if gap_of(start, middle) >= gap_of(middle, stop):
            stop = middle
        else:
            start = middle
    return start


def only(row: torch.Tensor, start: int, stop: int) -> torch.Tensor:
    part = torch.zeros_like(row)
    part[start:stop] = row[start:stop]
    return part


def one_at(like: torch.Tensor, place: int, value: float = 1.0) -> torch.Tensor:
    row = torch.zeros_like(like)
    row[place] = value
    return row
