"""The trained model on its batch in train and in eval mode: what it has learned must be there in both."""

from __future__ import annotations

import math

import torch
from torch import nn

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Tell, fit
from torch_debugger.trials.preflight.learned import Learned
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "train/eval consistency"

_STEPS = 100
_KEPT = 0.5  # of what the loss fell by in training
_MOST_FORWARDS = 400


def try_two_modes(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    if not any(module.training for module in case.models.values()):
        raise NotPossibleError("The model is in eval mode already.")
    learned.require_calm()
    steps = min(max(learned.steps, 20), _STEPS)
    found = fit(case, learned.way(case).optimizer, steps=steps, tell=tell)
    if not found.last < 0.95 * found.first:
        raise NotPossibleError(
            "The model does not learn this batch, so there is nothing that eval mode could lose."
        )
    with torch.no_grad():
        for _ in range(_forwards(case)):  # running statistics follow the weights with a delay
            training = case.loss().item()
        with case.evaluating():
            evaluated = case.loss().item()
    numbers = {"train": training, "eval": evaluated}
    said = f"After {steps} steps the batch's loss is {training:.4g} in train and {evaluated:.4g} in eval mode"
    kept = (found.first - evaluated) / (found.first - min(training, found.last))
    if not math.isfinite(evaluated) or kept < _KEPT:
        return failed(NAME, f"{said}, from {found.first:.4g} at the start.", _advice(case), **numbers)
    return passed(NAME, f"{said}.", **numbers)


def _norms(case: Case) -> list[nn.modules.batchnorm._BatchNorm]:
    return [each for each in case.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm)]


def _forwards(case: Case) -> int:
    """Until running statistics have forgotten nearly all of their start."""
    momenta = [each.momentum for each in _norms(case) if each.momentum]
    return min(_MOST_FORWARDS, math.ceil(4 / min(momenta))) if momenta else 1


def _advice(case: Case) -> str:
    if _norms(case):
        return (
            "BatchNorm uses its running statistics in eval mode, and they do not fit the data: look at its "
            "momentum, and for batches that differ from each other; GroupNorm or LayerNorm need no statistics."
        )
    return (
        "Look in `forward` for what asks `self.training`, and for dropout that is too high or applied by hand."
    )
