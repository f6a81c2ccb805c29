"""Parameters that are other objects at every look: made in forward, used once, thrown away.

The leaves of the loss's graph tell: a Parameter that no optimizer holds, on several deep steps in a row
never the same object, while some forward of the model's classes makes parameters.
"""

from __future__ import annotations

import weakref
from collections import deque
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.forward_makers import Maker, forward_makers
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FreshParameter


class FreshParameters:
    LOOKS = 3  # that must agree; as many again are told
    NODES = 3000

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._step = 0
        self._before: list[weakref.ref[torch.Tensor]] = []
        self._agreeing = 0

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """Before the backward of a deep step; the first of a step is enough."""
        if self._step == self.watch.step or self._agreeing >= 2 * self.LOOKS:
            return
        self._step = self.watch.step
        makers = self._makers()
        if not makers:
            return
        held = self.optimizers.parameter_ids()
        loose = [leaf for leaf in _leaves(loss.grad_fn, self.NODES) if id(leaf) not in held]
        old = {id(leaf) for reference in self._before if (leaf := reference()) is not None}
        fresh = [leaf for leaf in loose if id(leaf) not in old]
        self._before = [weakref.ref(leaf) for leaf in loose]
        self._agreeing = self._agreeing + 1 if fresh else 0
        if self._agreeing >= self.LOOKS:
            self._tell(*makers[0], fresh)

    def _makers(self) -> list[tuple[str, Maker]]:
        trained = [(root, module) for root, module in self.optimizers.looks.roots.alive() if root.trained]
        return [(root.name, maker) for root, module in trained for maker in forward_makers(module)]

    def _tell(self, root: str, maker: Maker, fresh: list[torch.Tensor]) -> None:
        self.watch.emit(
            FreshParameter(
                root=root,
                owner=maker.owner,
                maker=maker.call,
                elements=sum(leaf.numel() for leaf in fresh),
                place=maker.place,
                looks=self._agreeing,
                step=self.watch.step,
            )
        )


def _leaves(root: Any, limit: int) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    seen, queue = {root}, deque([root])
    while queue and len(seen) < limit:
        for operand, _ in queue.popleft().next_functions:
            if operand is not None and operand not in seen:
                seen.add(operand)
                queue.append(operand)
                variable = getattr(operand, "variable", None)
                if isinstance(variable, nn.Parameter):
                    found.append(variable)
    return found
