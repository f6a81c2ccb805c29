"""Derivatives by differences: central differences, and a careful form that knows its own error.

A central difference of step h is wrong by about precision * |f| / h from rounding and by h^2 * f''' / 6
from curvature; h = precision ** (1/3) balances the two. The careful form (Ridders' method) extrapolates
central differences of many steps to h = 0 and takes the entry of the table that changed least.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from torch_debugger.trials.gradcheck.point import Point

_RUNGS = 13
_HALVINGS_ABOVE = 9  # the ladder starts this many doublings above the usual step


class Steps:
    """How far to go along each input: relative to the size of its tensor, within reason."""

    def __init__(self, point: Point, eps: float | None) -> None:
        self.usual = eps if eps is not None else point.precision ** (1 / 3)
        self.scales = torch.ones_like(point.inputs)
        for slot in point.x if eps is None else ():
            size = point.inputs[slot.start : slot.stop].square().mean().sqrt()
            self.scales[slot.start : slot.stop] = float(size.clamp(0.1, 1e4)) if size > 0 else 1.0


def central_difference(point: Point, direction: torch.Tensor, step: float) -> torch.Tensor:
    """(f(x + h u) - f(x - h u)) / 2h, for all outputs."""
    shift = direction * step
    return (point.values(shift) - point.values(-shift)) / (2 * step)


def careful_slope(
    point: Point, direction: torch.Tensor, weights: torch.Tensor, usual: float
) -> tuple[float, float]:
    """The derivative of weights . f along a direction, and how far off it may be."""
    noise = 4 * point.precision * float(torch.linalg.vector_norm(weights * point.at_point))

    def slope(step: float) -> float:
        return float(weights @ central_difference(point, direction, step))

    def measured(longest: float) -> tuple[float, float]:
        return _extrapolated(slope, [longest / 2.0**rung for rung in range(_RUNGS)], noise)

    # Three times, with other steps: a function that rounds coarsely inside may seem steady once by chance.
    longest = usual * 2.0**_HALVINGS_ABOVE
    values, errors = zip(*(measured(share * longest) for share in (1.0, 0.83, 0.64)), strict=True)
    return values[0], max(*errors, 3 * (max(values) - min(values)))


def _extrapolated(slope: Callable[[float], float], ladder: list[float], noise: float) -> tuple[float, float]:
    best, least = math.nan, math.inf
    before: list[float] = []
    for step in ladder:  # each half of the one before
        row = [slope(step)]
        for order, older in enumerate(before):
            row.append(row[order] + (row[order] - older) / (4.0 ** (order + 1) - 1))
            doubt = max(abs(row[-1] - row[-2]), abs(row[-1] - older)) + noise / step
            if doubt < least:
                best, least = row[-1], doubt
        before = row if math.isfinite(row[0]) else []
    return best, least


def is_staircase(point: Point, direction: torch.Tensor, usual: float) -> bool:
    """Whether outputs stand still for small shifts and move for larger ones: half precision inside."""
    small, large = (point.values(direction * usual * share) != point.at_point for share in (1 / 64, 512))
    moved = int(large.sum())
    return moved > len(large) // 2 and int((small & large).sum()) < moved // 10 + 1


def is_kink(point: Point, direction: torch.Tensor, weights: torch.Tensor, usual: float) -> bool:
    """Whether the slope left of the point differs from the one right of it.

    The second difference over h goes to 0 with h where the function is smooth, and stays where it bends.
    """
    centre = float(weights @ point.at_point)
    noise = 64 * point.precision * float(torch.linalg.vector_norm(weights * point.at_point))

    def bend(step: float) -> tuple[float, float]:
        right, left = (float(weights @ point.values(direction * by)) for by in (step, -step))
        return abs(right + left - 2 * centre) / step, abs(right - left) / (2 * step)

    for step in (usual * 16, usual):
        wide, slope = bend(step)
        narrow, _ = bend(step / 2)
        if not math.isfinite(wide + narrow):
            return True
        if narrow > 0.75 * wide and narrow > 1e-2 * slope + noise / step:
            return True
    return False
