"""What the memory is used for: on deep steps and some others, before backward and after the update.

Sizes are read, no values: nothing waits for the device, and nothing is kept alive.
"""

from __future__ import annotations

from collections import Counter
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.memory_tally import MemoryTally
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.piles import Pile, piles
from torch_debugger.anatomy.saved_tensors import is_copy_of_weight, nodes_from, saved_by
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.lagging import Lagging
from torch_debugger.probes.node_numbers import ModuleSpans, StepNumbers
from torch_debugger.probes.watch import Watch
from torch_debugger.records.memory import (
    ACTIVATIONS,
    AFTER_UPDATE,
    BEFORE_BACKWARD,
    BUFFERS,
    COPIES,
    GRADIENTS,
    INPUTS,
    KEPT,
    PARAMETERS,
    REST,
    STATE,
    VARIABLES,
    WATCHER,
    HeldByVariable,
    MemoryLook,
    SavedByModule,
)
from torch_debugger.stats.memory import count_device


class MemoryWatch:
    NODES = 20_000  # of autograd's graph that one look walks through, at 2 to 3 us each
    MODULES, VARIABLES = 8, 5  # told in one look

    def __init__(
        self, watch: Watch, forward: Forward, backward: Backward, lagging: Lagging, numbers: StepNumbers
    ) -> None:
        self.watch = watch
        self.numbers = numbers
        self.backward = backward
        self.lagging = lagging
        self._spans = ModuleSpans(watch, forward)
        self._first_sizes: dict[str, int] = {}  # of variables, when they were first seen
        self._before: dict[str, MemoryLook] = {}  # by device: the fullest of the step's backward calls
        self._batch: set[int] = set()  # numbers of the storages that the step's batch is in
        backward.on_look.append(self._before_backward)
        watch.on_step.append(self._step_done)

    def _before_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        self.watch.probe("memory", self._look, loss, frame)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        if self._before:
            self.watch.probe("memory", self._tell)
            self._before, self._batch = {}, set()

    def _look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        look = _Look(self)
        self._batch |= look.state()
        look.graph(loss)
        look.variables(frame, self._first_sizes, self._batch)
        for found in look.records(self.watch.step, BEFORE_BACKWARD):
            known = self._before.get(found.device)
            if known is None or found.used_bytes > known.used_bytes:
                self._before[found.device] = found

    def _tell(self) -> None:
        after = _Look(self)
        after.state()
        after.variables(user_frame(), self._first_sizes, self._batch)
        for look in (*self._before.values(), *after.records(self.watch.step, AFTER_UPDATE)):
            self.watch.emit(look)

    def module_of(self, node: Any) -> str:
        return self._spans.module_of(node)


class _Look:
    """One moment: first the state, then the loss's graph, then what variables hold beside them."""

    def __init__(self, owner: MemoryWatch) -> None:
        self.owner = owner
        self.tally = MemoryTally()
        self._modules: dict[torch.device, Counter[str]] = {}
        self._variables: dict[torch.device, list[HeldByVariable]] = {}
        self._nodes: set[Any] = set()
        self._whole = not owner.backward.saved_hooks

    def state(self) -> set[int]:
        """What a step finds and leaves: models, optimizers; and its batch, whose storages are told."""
        roots = self.owner.backward.roots.alive()
        optimizers = [optimizer for _, optimizer in self.owner.backward.optimizers.live()]
        parameters = [parameter for _, module in roots for parameter in module.parameters()]
        parameters += [p for each in optimizers for group in each.param_groups for p in group["params"]]
        self.tally.add_all(parameters, PARAMETERS)
        self.tally.add_all((buffer for _, module in roots for buffer in module.buffers()), BUFFERS)
        self.tally.add_all((each.grad for each in parameters if each.grad is not None), GRADIENTS)
        for optimizer in optimizers:
            self.tally.add_all(tensors_in(list(optimizer.state.values())), STATE)
        batch = [tensor for root, _ in roots for tensor in tensors_in(root.call)]
        self.tally.add_all(batch, INPUTS)
        return {number for tensor in batch for number in self.tally.numbers_of(tensor)}

    def graph(self, loss: torch.Tensor) -> None:
        self.tally.add(loss, ACTIVATIONS)
        if not self._whole:
            return
        for node in nodes_from([loss.grad_fn], self._nodes, self.owner.NODES):
            of_this_step = self.owner.numbers.is_of_this_step(node)
            for tensor in saved_by(node):
                self._saved(tensor, node, of_this_step)
        self._whole = len(self._nodes) < self.owner.NODES

    def _saved(self, tensor: torch.Tensor, node: Any, of_this_step: bool) -> None:
        if not of_this_step:
            self.tally.add(tensor, KEPT)
        elif is_copy_of_weight(tensor):
            self.tally.add(tensor, COPIES)
        else:
            size = self.tally.add(tensor, ACTIVATIONS)
            self._modules.setdefault(tensor.device, Counter())[self.owner.module_of(node)] += size

    def variables(self, frame: FrameType | None, first_sizes: dict[str, int], batch: set[int]) -> None:
        """What they hold beside all that; and after them, what nobody but torch-debugger holds."""
        for pile in piles(frame):
            self._variable(pile, first_sizes, batch)
        self.tally.add_all(self.owner.lagging.held(), WATCHER)

    def _variable(self, pile: Pile, first_sizes: dict[str, int], batch: set[int]) -> None:
        """A container is as large as those of its entries that were looked at say."""
        by_device = Counter[torch.device]()
        for tensor in pile.sample:
            node = tensor.grad_fn
            if node is not None and self.owner.numbers.is_of_this_step(node):
                self.tally.add(tensor, ACTIVATIONS)
            elif batch and self.tally.numbers_of(tensor) <= batch:
                self.tally.add(tensor, INPUTS)
            elif size := self.tally.claim(tensor) + self._graph_behind(node):
                by_device[tensor.device] += size
        for device, size in by_device.items():
            self._held(pile, device, size * pile.count // pile.sampled, first_sizes)

    def _graph_behind(self, node: Any) -> int:
        """Bytes that a tensor of an earlier step keeps beside itself."""
        if node is None or self.owner.backward.saved_hooks:
            return 0
        found = nodes_from([node], self._nodes, self.owner.NODES)
        return sum(self.tally.claim(tensor) for each in found for tensor in saved_by(each))

    def _held(self, pile: Pile, device: torch.device, size: int, first_sizes: dict[str, int]) -> None:
        at_first = min(first_sizes.setdefault(f"{device} {pile.name}", size), size)
        self.tally.put(device, VARIABLES, at_first)
        self.tally.put(device, KEPT, size - at_first)
        held = HeldByVariable(pile.name, size, pile.count, size > at_first)
        self._variables.setdefault(device, []).append(held)

    def records(self, step: int, moment: str) -> list[MemoryLook]:
        return [self._record(device, parts, step, moment) for device, parts in self.tally.by_device.items()]

    def _record(self, device: torch.device, parts: Counter[str], step: int, moment: str) -> MemoryLook:
        modules = self._modules.get(device, Counter()).most_common(self.owner.MODULES)
        variables = sorted(self._variables.get(device, []), key=lambda held: -held.size_bytes)
        counts = count_device(device)
        known = dict(parts)
        if counts.allocated_bytes > sum(known.values()):
            known[REST] = counts.allocated_bytes - sum(known.values())
        return MemoryLook(
            step,
            str(device),
            moment,
            known,
            tuple(SavedByModule(path, size) for path, size in modules if size),
            tuple(variables[: self.owner.VARIABLES]),
            counts.allocated_bytes,
            counts.peak_bytes,
            counts.cache_bytes,
            counts.other_bytes,
            counts.total_bytes,
            self._whole,
        )
