"""Which losses a GradScaler has multiplied, and what they were before.

A backward pass is `scaled` when it begins at what `scaler.scale` returned, `plain` when it begins at what
was given to it or when nothing was scaled, and `unsure` otherwise (the sum of two scaled losses, say).
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch

SCALED, PLAIN, UNSURE = "scaled", "plain", "unsure"


@dataclass(frozen=True)
class ScaledLoss:
    scaler: weakref.ref[Any]
    given: weakref.ref[torch.Tensor]
    made: weakref.ref[torch.Tensor]
    value: torch.Tensor | None  # of what was given, without its graph; None for more than one number


class ScaledLosses:
    LIMIT = 16  # losses scaled between two updates

    def __init__(self) -> None:
        self.kinds: set[str] = set()  # of the backward passes since the step began
        self.scaler: weakref.ref[Any] | None = None  # the last one that scaled a loss
        self._waiting: list[ScaledLoss] = []  # for their backward pass

    def restart(self) -> None:
        """Another step begins."""
        self.kinds = set()
        self._waiting = []

    def made(self, scaler: Any, given: torch.Tensor, made: torch.Tensor) -> None:
        value = given.detach() if given.numel() == 1 else None
        self.scaler = weakref.ref(scaler)
        self._waiting.append(ScaledLoss(self.scaler, weakref.ref(given), weakref.ref(made), value))
        del self._waiting[: -self.LIMIT]

    def meet(self, loss: torch.Tensor) -> torch.Tensor:
        """A backward pass begins here; the loss as it was before it was scaled comes back."""
        for scaled in self._waiting:
            if scaled.made() is loss:
                self._waiting.remove(scaled)
                self.kinds.add(SCALED)
                return loss if scaled.value is None else scaled.value
        plain = not self._waiting or any(scaled.given() is loss for scaled in self._waiting)
        self.kinds.add(PLAIN if plain else UNSURE)
        return loss
