"""Models that only ever run without gradients although an optimizer waits for theirs: they are models too.

Others are met when they are trained. Seen on deep steps.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any

from torch import nn

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.roots import Root
from torch_debugger.probes.watch import Watch
from torch_debugger.stats.weak_keys import WeakKeysById


class LeftOut:
    SEEN = 2  # deep steps: one that is only played before it is trained is known by then
    CLOSER_LOOKS = 4  # to see that nothing reaches it, and why

    def __init__(self, watch: Watch, forward: Forward, optimizers: Optimizers) -> None:
        self.watch = watch
        self.roots = forward.roots
        self.optimizers = optimizers
        self._steps: MutableMapping[nn.Module, set[int]] = WeakKeysById()
        forward.on_quiet.append(self._see)

    def _see(self, module: nn.Module, given: Any, output: Any) -> None:
        if self.roots.holder(module) is not None or not self._is_waited_for(module):
            return
        steps = self._steps.setdefault(module, set())
        steps.add(self.watch.step)
        frame = user_frame(2)
        if len(steps) == self.SEEN and frame is not None:
            self.roots.meet(module, frame)
            self.watch.governor.insist(self.CLOSER_LOOKS)

    def _is_waited_for(self, module: nn.Module) -> bool:
        held, own = self.optimizers.parameter_ids(), list(module.parameters())
        waits = all(id(p) in held and p.requires_grad and p.grad is None for p in own)
        return module.training and bool(own) and waits


def is_left_out(root: Root, module: nn.Module, held: Collection[int]) -> bool:
    """Until now it has run in training mode and never with gradients on."""
    if not root.phases.get((True, False)) or any(with_graph for _, with_graph in root.phases):
        return False
    return all(id(p) in held and p.requires_grad and p.grad is None for p in module.parameters())
