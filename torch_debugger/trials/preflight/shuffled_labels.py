"""The model trained with the labels of other samples: true ones should be easier to learn."""

from __future__ import annotations

import math

import torch

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Tell, fit
from torch_debugger.trials.preflight.guessing import sides_of
from torch_debugger.trials.preflight.labels import pairs_matter, require_labels_outside, shuffled
from torch_debugger.trials.preflight.learned import Learned
from torch_debugger.trials.preflight.outcomes import failed, passed
from torch_debugger.trials.preflight.relation import related

NAME = "shuffled-label baseline"

_STEPS = 60
_SHUFFLES = 3
_EASIER = 0.97  # of the mean loss with shuffled labels


def try_shuffled_labels(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    count = case.require_samples(4)
    order = torch.Generator().manual_seed(0)
    learned.require_calm()
    if pairs_matter(case) is False:
        return _unpaired(case)
    require_labels_outside(case)
    true = _mean_loss(case, learned, None, tell)
    others = [_mean_loss(case, learned, shuffled(case, order), tell) for _ in range(_SHUFFLES)]
    said = (
        f"Over {_STEPS} steps the loss is {true:.4g} on average with the true labels and "
        f"{min(others):.4g} to {max(others):.4g} with shuffled ones"
    )
    if true < _EASIER * min(others):
        return passed(NAME, f"{said}.", true=true, shuffled=min(others))
    sides = sides_of(case.loss())
    seen = related(case, sides[1] if sides is not None else None)
    if seen is None or seen:
        raise NotPossibleError(f"{said}: by a batch of {count} they cannot be told apart.")
    return failed(
        NAME,
        f"{said}: the labels are no easier to learn than random ones, and neighbours have no more in common.",
        "Look at some pairs: do labels belong to their inputs? Sorting or shuffling one and not the other is "
        "the usual reason.",
        true=true,
        shuffled=min(others),
    )


def _unpaired(case: Case) -> TrialResult:
    sides = sides_of(case.loss())
    assert sides is not None
    shape = list(sides[1].shape)
    return failed(
        NAME,
        f"The loss is the same whichever sample has which label: {case.samples} are compared as {shape}.",
        "Give the output and the targets one shape before the loss, such as `output.squeeze(1)`: shapes of "
        "[n, 1] and [n] broadcast to [n, n], all with all.",
    )


def _mean_loss(case: Case, learned: Learned, call: Call | None, tell: Tell) -> float:
    with case.undone():
        losses = fit(case, learned.way(case).optimizer, call=call, steps=_STEPS, tell=tell).losses
    if not all(map(math.isfinite, losses)):
        raise NotPossibleError("The loss does not stay finite in training.")
    return sum(losses) / len(losses)
