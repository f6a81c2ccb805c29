"""Are an optimizer's gradients cleared between its steps? Told by value.

Version counters lie here (`p.grad.data.zero_()` leaves them alone), so the gradient of one
small parameter is looked at before every backward of a watched cycle: none or zero even once
means it was cleared. Two optimizers that share a backward (a GAN) are each judged by their own cycle.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from torch_debugger.anatomy.method_calls import written_as
from torch_debugger.records import CarriedGradient, Place
from torch_debugger.stats.summary import norm
from torch_debugger.stats.transfer import Transfer
from torch_debugger.stats.unseen import item_of

Emit = Callable[[CarriedGradient], None]


class CarryTracker:
    TOLD_CLEAN = 3  # a healthy optimizer is reported this often, then left alone
    TOLD_CARRIED = 12

    def __init__(self) -> None:
        self._sample: torch.Tensor | None = None
        self._name = ""
        self._norms: list[torch.Tensor] = []  # before each backward since the optimizer's last step
        self._cleared = False
        self._first: weakref.ref[torch.Tensor] | None = None  # the gradient before the first of them
        self._tracking = False
        self._told_clean = self._told_carried = 0

    def restart(self) -> None:
        """The optimizer has stepped: a new cycle begins."""
        self._norms, self._cleared, self._tracking = [], False, self._sample is not None
        self._first = None

    def before_backward(self) -> None:
        if not self._tracking or self._cleared or self._sample is None:
            return
        gradient = self._sample.grad
        if gradient is None:
            self._cleared = True
        elif gradient.layout is torch.strided and len(self._norms) < 8:
            length = norm(gradient).float()
            if not length.is_cuda and item_of(length) == 0.0:
                self._cleared = True
            self._norms.append(length)
            self._first = self._first or weakref.ref(gradient)

    def choose(self, parameters: list[torch.Tensor], names: tuple[str, ...]) -> None:
        """Sample the smallest parameter that has a gradient to tell by."""
        if self._sample is None or self._sample.grad is None:
            smallest = min(range(len(parameters)), key=lambda index: parameters[index].numel())
            self._sample, self._name = parameters[smallest], names[smallest]

    def at_step(self, step: int, optimizer: str, place: Place, transfer: Transfer, emit: Emit) -> None:
        """The optimizer is about to step; tell what its gradients are made of."""
        if not self._tracking or self._sample is None or self._sample.grad is None:
            return
        if self._told_clean >= self.TOLD_CLEAN or self._told_carried >= self.TOLD_CARRIED:
            return
        if not self._norms and not self._cleared:
            return  # no backward in this cycle was seen
        now = norm(self._sample.grad).float()
        # backward() adds to the gradient that is there; another object was put in its place by hand.
        cleared = self._cleared or (self._first is not None and self._first() is not self._sample.grad)

        def deliver(found: Any) -> None:
            before = [float(value) for value in found[:-1]]
            is_clean = cleared or 0.0 in before
            self._told_clean += is_clean
            self._told_carried += not is_clean
            carried = 0.0 if is_clean else before[0]
            written = optimizer if is_clean else written_as(place, optimizer)
            emit(
                CarriedGradient(
                    step, optimizer, place, is_clean, carried, float(found[-1]), self._name, written
                )
            )

        transfer.send(torch.stack([*self._norms, now]), deliver)
