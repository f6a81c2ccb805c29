"""Whether inputs can be given to the model without the labels that belong to them."""

from __future__ import annotations

import math

import torch

from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError
from torch_debugger.trials.preflight.guessing import sides_of


def shuffled(case: Case, order: torch.Generator) -> Call:
    """The inputs in another order: each meets the label of another sample."""
    count = case.samples
    places = torch.randperm(count, generator=order)
    return case.changed(lambda each: each[places] if each.dim() and each.shape[0] == count else each)


def moved_on(case: Case) -> Call:
    """Each input in the place of the next: none stays where it was."""
    count = case.samples
    return case.changed(lambda each: each.roll(1, 0) if each.dim() and each.shape[0] == count else each)


def require_labels_outside(case: Case) -> None:
    """Inputs in other places give another loss, unless their labels move with them."""
    if pairs_matter(case) is not True:
        raise NotPossibleError(
            "The labels go into the model with the inputs, or the loss does not depend on whose label is whose."
        )


def pairs_matter(case: Case) -> bool | None:
    """Whether the loss depends on which sample has which label; None where that cannot be told."""
    with case.undone(), case.evaluating():
        plain, other = case.loss(), case.loss(moved_on(case))
    if not math.isclose(plain.item(), other.item(), rel_tol=1e-6):
        return True
    sides, moved = sides_of(plain), sides_of(other)
    if sides is None or moved is None or not torch.equal(sides[1], moved[1]) or _is_constant(sides[1]):
        return None  # the labels have moved with the inputs, or are all the same
    if torch.equal(sides[0], moved[0]):
        return True  # a model that does not look at its inputs has not moved either
    return False if sides[1].shape == (case.samples, case.samples) else None


def _is_constant(targets: torch.Tensor) -> bool:
    return bool((targets == targets.reshape(-1)[0]).all())
