"""Backward is a linear map of the incoming gradient; where it is not, that says it all."""

from __future__ import annotations

import torch

from torch_debugger.trials.gradcheck.point import Point
from torch_debugger.trials.gradcheck.result import Problem
from torch_debugger.trials.gradcheck.rows import Slot

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
        "Take clipping, normalising or rounding of `grad_output` out of `backward`, if it is not there on "
        "purpose.",
        deliberate,
    )


def _hands_on(point: Point) -> bool:
    """Forward returns its input as it is: who writes that, writes it for the sake of the backward."""
    return any(
        point.at_point.shape == point.inputs[slot.start : slot.stop].shape
        and torch.equal(point.at_point, point.inputs[slot.start : slot.stop])
        for slot in point.x
    )
