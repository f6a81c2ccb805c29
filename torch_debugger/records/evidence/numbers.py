"""Numbers that are not finite, met by something that takes only real ones."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.nonfinite import Operand


@dataclass(frozen=True, slots=True)
class NumberEvidence:
    taker: str  # who refused them: Categorical, multinomial, linalg_eigh, int()
    tensors: tuple[Operand, ...]  # those not finite in reach, the nearest to the refusal first
    weights: tuple[str, ...] = ()  # parameters of the models watched that are not finite: net.fc.weight
    weights_known: bool = False  # there are such models
