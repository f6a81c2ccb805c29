"""Small cases for the trials: a model, a batch, a loss, an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight_case import Case, NotPossibleError, case_of
from torch_debugger.trials.preflight_training import Learned, Tell

CLASSES = 4
BY_ADAM = Learned(own=False, rate=1e-2, steps=60, passed=True)


def classifier() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, CLASSES))


def samples(count: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    """Eight numbers, and which of the first four is the largest."""
    x = torch.randn(count, 8, generator=torch.Generator().manual_seed(1))
    return x, x[:, :CLASSES].argmax(1)


def case(
    model: nn.Module | None = None,
    batch: Any = None,
    loss: Callable[[Any, Any], torch.Tensor] = nn.functional.cross_entropy,
    optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer] | None = None,
) -> Case:
    torch.manual_seed(0)
    chosen = classifier() if model is None else model
    made = optimizer(list(chosen.parameters())) if optimizer is not None else None
    return case_of("net", chosen, loss, samples() if batch is None else batch, made)


def outcome(trial: Callable[..., TrialResult], subject: Case, *more: Any) -> TrialResult:
    with subject.undone():
        return trial(subject, *more)


def refused(trial: Callable[..., TrialResult], subject: Case, *more: Any) -> str:
    """Why a trial cannot be made."""
    try:
        result = outcome(trial, subject, *more)
    except NotPossibleError as reason:
        return str(reason)
    raise AssertionError(f"it was made: {result}")


def quiet(step: int, loss: float) -> None:
    """Nobody listens."""


TELL: Tell = quiet
