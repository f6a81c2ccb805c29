"""The model trained with the labels of other samples: true ones should be easier to learn."""

from __future__ import annotations

import math

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Tell, fit
from torch_debugger.trials.preflight.learned import Learned
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "shuffled-label baseline"

_STEPS = 60
_SHUFFLES = 3
_FEWEST = 64  # samples, and four times as many as a sample has numbers: fewer hide what relates them
_EASIER = 0.97  # of the mean loss with shuffled labels


def try_shuffled_labels(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    count = case.samples
    if count < 4:
        raise NotPossibleError(f"A batch of {count} is too small to shuffle.")
    order = torch.Generator().manual_seed(0)
    _require_labels_outside(case, _shuffled(case, order))
    true = _mean_loss(case, learned, None, tell)
    shuffled = [_mean_loss(case, learned, _shuffled(case, order), tell) for _ in range(_SHUFFLES)]
    said = (
        f"Over {_STEPS} steps the loss is {true:.4g} on average with the true labels and "
        f"{min(shuffled):.4g} to {max(shuffled):.4g} with shuffled ones"
    )
    if true < _EASIER * min(shuffled):
        return passed(NAME, f"{said}.", true=true, shuffled=min(shuffled))
    size = sum(each[0].numel() for each in tensors_in(case.call) if each.dim() and each.shape[0] == count)
    if count < max(_FEWEST, 4 * size):
        raise NotPossibleError(f"{said}: a batch of {count} is too small to tell them apart.")
    return failed(
        NAME,
        f"{said}: the labels are no easier to learn than random ones.",
        "Look at some pairs: do labels belong to their inputs? Sorting or shuffling one and not the other is "
        "the usual reason.",
        true=true,
        shuffled=min(shuffled),
    )


def _shuffled(case: Case, order: torch.Generator) -> Call:
    """The inputs in another order: each meets the label of another sample."""
    count = case.samples
    places = torch.randperm(count, generator=order)
    return case.changed(lambda each: each[places] if each.dim() and each.shape[0] == count else each)


def _require_labels_outside(case: Case, shuffled: Call) -> None:
    with case.undone(), case.evaluating(), torch.no_grad():
        plain, other = float(case.loss()), float(case.loss(shuffled))
    if math.isclose(plain, other, rel_tol=1e-6):
        raise NotPossibleError(
            "The labels go into the model with the inputs, or the loss does not depend on whose label is whose."
        )


def _mean_loss(case: Case, learned: Learned, call: Call | None, tell: Tell) -> float:
    with case.undone():
        losses = fit(case, learned.way(case).optimizer, call=call, steps=_STEPS, tell=tell).losses
    if not all(map(math.isfinite, losses)):
        raise NotPossibleError("The loss does not stay finite in training.")
    return sum(losses) / len(losses)
