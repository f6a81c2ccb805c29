"""The parameter ledger: for every parameter, is it registered, trainable, held, used, reached, changed?

Filled on deep steps, after the update; told when it says something new.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Collection, MutableMapping
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FreshParameter, LedgerFact, LedgerRow
from torch_debugger.source.frames import user_frame
from torch_debugger.source.parameters import Maker, forward_makers
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import norm


class Ledger(Probe):
    name = "ledger"
    after = ("Forward",)
    deep_only = True
    ALWAYS_TOLD = 4  # the first ledgers of a root, whatever they say
    TOLD_THE_SAME = 2  # then each change is told and confirmed once

    def __init__(self, watch: Watch, roots: RootModules, optimizers: Optimizers, forward: Forward) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.forward = forward
        self.left_out = LeftOut(watch, forward, optimizers)
        self.latest: dict[str, tuple[int, tuple[LedgerRow, ...]]] = {}  # root -> step, rows
        self._reported: dict[str, tuple[int, int, tuple[LedgerRow, ...]]] = {}  # root -> times told, the same
        optimizers.before_update.append(self._read_gradients)
        self._gradients: dict[int, str] = {}  # parameter id -> none | zero | nonzero | notfinite

    def begin_step(self, depth: int) -> None:
        self._gradients = {}

    @no_grad()
    def _read_gradients(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        """Before the update of a deep step, while every gradient stands: of all roots it touches."""
        own = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for _, module in self.roots.alive():
            parameters = list(module.parameters())
            if any(id(parameter) in own for parameter in parameters):
                for parameter in parameters:
                    self._gradients.setdefault(id(parameter), gradient_state(parameter))

    def end_step(self) -> None:
        if self.watch.depth != DEEP or not self._gradients:
            return
        optimized = self.optimizers.parameter_ids()
        changed = {key: value for each, _ in self.optimizers.live() for key, value in each.changed.items()}
        for root, module in self.roots.alive():
            if root.trained or is_left_out(root, module, optimized):
                rows = tuple(self._rows(root, module, optimized, changed))
                self.latest[root.name] = (self.watch.step, rows)
                if root.trained:
                    self._tell(root, rows)

    def _rows(
        self, root: RootModule, module: torch.nn.Module, optimized: Collection[int], changed: dict[int, bool]
    ) -> list[LedgerRow]:
        rows = []
        for path, child in module.named_modules():
            for name, parameter in child.named_parameters(recurse=False):
                key = id(parameter)
                full = ".".join(part for part in (root.name, path, name) if part)
                state = self._gradients.get(key) or gradient_state(parameter)
                used = id(child) in self.forward.ran or state in ("nonzero", "notfinite")
                rows.append(
                    LedgerRow(
                        name=full,
                        elements=0 if torch.nn.parameter.is_lazy(parameter) else parameter.numel(),
                        trainable=parameter.requires_grad,
                        registered=True,
                        in_optimizer=key in optimized,
                        used=None if self.forward.paused else used,
                        gradient=state,
                        changed=changed.get(key),
                    )
                )
        return rows

    def _tell(self, root: RootModule, rows: tuple[LedgerRow, ...]) -> None:
        count, same, last = self._reported.get(root.name, (0, 0, ()))
        same = same + 1 if rows == last else 1
        if count >= self.ALWAYS_TOLD and same > self.TOLD_THE_SAME:
            return
        self._reported[root.name] = (count + 1, same, rows)
        stepped = tuple(tracked.name for tracked, _ in self.optimizers.live() if tracked.steps)
        self.watch.emit(LedgerFact(root.name, self.watch.step, stepped, rows))


def gradient_state(parameter: torch.Tensor) -> str:
    gradient = parameter.grad
    if gradient is None:
        return "none"
    if gradient.is_cuda:
        return "nonzero"  # by value would make the host wait; the norms tell zeros later
    values = gradient.coalesce().values() if gradient.is_sparse else gradient
    length = float(norm(values)) if values.numel() else 0.0
    if not math.isfinite(length):
        return "notfinite"
    return "nonzero" if length else "zero"


# Models that only ever run without gradients although an optimizer waits for theirs: they are models too.
#
# Others are met when they are trained. Seen on deep steps.
class LeftOut:
    SEEN = 2  # deep steps: one that is only played before it is trained is known by then
    CLOSER_LOOKS = 4  # to see that nothing reaches it, and why

    def __init__(self, watch: Watch, forward: Forward, optimizers: Optimizers) -> None:
        self.watch = watch
        self.roots = forward.roots
        self.optimizers = optimizers
        self._steps: MutableMapping[nn.Module, set[int]] = WeakKeysById()
        forward.on_quiet.append(self._see)

    def _see(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self.roots.holder(module) is not None or not module.training:
            return
        ids, own = self.optimizers.parameter_ids(), list(module.parameters())
        if not own or not all(id(p) in ids and p.requires_grad and p.grad is None for p in own):
            return  # no optimizer waits for its gradients
        steps = self._steps.setdefault(module, set())
        steps.add(self.watch.step)
        frame = user_frame(2)
        if len(steps) == self.SEEN and frame is not None:
            self.roots.meet(module, frame)
            self.watch.governor.insist(self.CLOSER_LOOKS)


def is_left_out(root: RootModule, module: nn.Module, optimized: Collection[int]) -> bool:
    """Until now it has run in training mode and never with gradients on."""
    if not root.phases.get((True, False)) or any(with_graph for _, with_graph in root.phases):
        return False
    return all(id(p) in optimized and p.requires_grad and p.grad is None for p in module.parameters())


# Parameters that are other objects at every look: made in forward, used once, thrown away.
#
# The leaves of the loss's graph tell: a Parameter that no optimizer holds, on several deep steps in a row never the
# same object, while some forward of the model's classes makes parameters.
class FreshParameters:
    LOOKS = 3  # that must agree; as many again are told
    NODES = 3000

    def __init__(self, watch: Watch, optimizers: Optimizers, backward: Backward) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._step = 0
        self._before: list[weakref.ref[torch.Tensor]] = []
        self._agreeing = 0
        backward.on_look.append(self.see_backward)

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """Before the backward of a deep step; the first of a step is enough."""
        if self._step == self.watch.step or self._agreeing >= 2 * self.LOOKS:
            return
        self._step = self.watch.step
        trained = [(root, module) for root, module in self.optimizers.looks.roots.alive() if root.trained]
        makers = [(root.name, maker) for root, module in trained for maker in forward_makers(module)]
        if not makers:
            return
        optimized = self.optimizers.parameter_ids()
        loose = [leaf for leaf in _leaves(loss.grad_fn, self.NODES) if id(leaf) not in optimized]
        old = {id(leaf) for reference in self._before if (leaf := reference()) is not None}
        fresh = [leaf for leaf in loose if id(leaf) not in old]
        self._before = [weakref.ref(leaf) for leaf in loose]
        self._agreeing = self._agreeing + 1 if fresh else 0
        if self._agreeing >= self.LOOKS:
            self._tell(*makers[0], fresh)

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
