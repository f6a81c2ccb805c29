"""Gradients of the scores with respect to the input itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Aim, Rows, turns_of
from torch_debugger.pictures.gradient_runs import differentiated


def input_gradients(
    leaf: torch.Tensor, rows: Rows, aims: list[Aim], others: Sequence[torch.Tensor] = ()
) -> tuple[list[torch.Tensor], ...]:
    """For the input and each of the other tensors, one gradient an aim."""
    tensors = [leaf, *others]
    scores = [aim.score(rows[aim.example]) for aim in aims]
    found: list[list[Any]] = [[None] * len(aims) for _ in tensors]
    turns = list(turns_of(aims))
    for number, turn in enumerate(turns):
        total = torch.stack([scores[place] for place in turn]).sum()
        gradients = _gradients(total, tensors, again=number + 1 < len(turns))
        for place in turn:
            for each, gradient in zip(found, gradients, strict=True):
                each[place] = gradient[aims[place].example]
    return tuple(found)


def _gradients(total: torch.Tensor, tensors: list[torch.Tensor], *, again: bool) -> list[torch.Tensor]:
    if not total.requires_grad:
        raise UsageError(
            "the score cannot be differentiated with respect to the input: between them lies argmax, .detach(),"
            " torch.no_grad() or a way through numpy."
        )
    found = differentiated(total, tensors, again=again)
    return [
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(tensors, found, strict=True)
    ]
