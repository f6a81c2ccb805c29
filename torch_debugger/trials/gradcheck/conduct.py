"""How a function behaves before its gradient is looked at: does it raise, draw, or change what it is given?"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torch_debugger.anatomy.randomness import keep_randomness
from torch_debugger.trials.gradcheck.point import Point
from torch_debugger.trials.gradcheck.result import Problem
from torch_debugger.trials.gradcheck.rows import to_row
from torch_debugger.trials.gradcheck.subject import Subject, Tensors

_SAME = 64  # roundings: parallel sums may come in another order


class SameRandomness:
    """A subject that draws the same random numbers in every run."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._restore = keep_randomness()
        self.name, self.leaf_names, self.leaves = subject.name, subject.leaf_names, subject.leaves
        self.output_names = subject.output_names
        self.unmarked, self.leave_out = subject.unmarked, subject.leave_out

    def run(self, shifts: Sequence[torch.Tensor] | None) -> tuple[Tensors, Tensors]:
        self._restore()
        return self._subject.run(shifts)


def runs_alike(point: Point) -> bool:
    """Whether a second run at the same point gives the same outputs."""
    again = Point(point.subject)
    return again.at_point.shape == point.at_point.shape and _same(
        again.at_point, point.at_point, point.precision
    )


def pulls_alike(point: Point) -> bool:
    """Whether backward, asked twice, answers the same."""
    weights = torch.ones_like(point.at_point)
    return _same(point.pull(weights), point.pull(weights), point.precision)


def _same(one: torch.Tensor, other: torch.Tensor, precision: float) -> bool:
    if torch.equal(one, other):
        return True
    difference, size = (one - other).nan_to_num().abs().max(), one.nan_to_num().abs().max()
    same_holes = torch.equal(one.isnan(), other.isnan())
    return same_holes and bool(difference <= _SAME * precision * size)


def non_deterministic(by_random_numbers: bool) -> Problem:
    if by_random_numbers:
        return Problem(
            "non-deterministic",
            "non-deterministic: two calls with the same inputs gave different outputs, because random "
            "numbers are "
            "drawn. What follows was found with the same random numbers in every call.",
            "Call `.eval()` on a module with dropout; in a function, draw the random numbers outside and pass "
            "them in.",
        )
    return Problem(
        "stateful",
        "non-deterministic: two calls with the same inputs gave different outputs, and random numbers are "
        "not the "
        "reason. Differences of such a function mean nothing.",
        "Look for state that one call leaves for the next: counters, caches, running averages.",
    )


def backward_non_deterministic() -> Problem:
    return Problem(
        "non-deterministic-backward",
        "non-deterministic: backward, called twice on the same graph, gave different gradients.",
        "Look for what `backward` writes into: saved tensors, attributes of `ctx`, or random numbers it draws.",
    )


def changed_in_place(point: Point) -> tuple[list[str], list[str]]:
    """Inputs that the forward wrote into: behind autograd's back, and with its knowledge."""
    hidden, known = [], []
    for name, leaf, given in zip(point.subject.leaf_names, point.subject.leaves, point.given, strict=True):
        if given.grad_fn is not None and given.grad_fn.name() != "CloneBackward0":
            known.append(name)
        elif not torch.equal(given.detach(), leaf.detach()):
            hidden.append(name)
    return hidden, known


def in_place(names: Sequence[str]) -> Problem:
    words = ", ".join(f"`{name}`" for name in names)
    return Problem(
        "in-place",
        f"in-place: the forward changes its input {words}, and autograd does not know of it.",
        "Compute a new tensor (`x * 2`, not `x.mul_(2)`), or call `ctx.mark_dirty(x)` in `forward` and "
        "return x.",
    )


def incoming_written() -> Problem:
    return Problem(
        "incoming-gradient-written",
        "in-place: backward writes into the gradient that it gets, which others in the graph may share.",
        "Compute a new tensor (`grad_output * x`, not `grad_output.mul_(x)`), or begin with "
        "`grad_output = grad_output.clone()`.",
    )


def handles_missing_gradients(point: Point) -> bool:
    """With several outputs, backward must cope with a gradient for only one of them."""
    weights = torch.ones_like(point.at_point)
    for number, slot in enumerate(point.y):
        alone = point.pulled(weights, only=[number])
        part = torch.zeros_like(weights)
        part[slot.start : slot.stop] = 1.0
        if not _same(to_row(alone, point.x), point.pull(part), point.precision):
            return False
    return True
