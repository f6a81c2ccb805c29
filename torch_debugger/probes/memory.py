"""Memory over time by what it is used for: on deep steps and some others, before backward and after the update.

Sizes are read, no values: nothing waits for the device, and nothing is kept alive.
"""

from __future__ import annotations

import math
import weakref
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from torch_debugger.model.cuda_memory import cublas_bytes
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.tensor_memory import MemoryTally, Pile, is_copy_of_weight, nodes_from, piles, saved_by
from torch_debugger.probes.async_steps import AsyncSteps
from torch_debugger.probes.gradients_autograd_nodes import ModuleSpans, StepNumbers
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.schedule import Spacing
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place
from torch_debugger.records.performance import (
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
    WORKSPACE,
    HeldByVariable,
    MemoryLook,
    SavedByModule,
)
from torch_debugger.source.assignments import addition_to
from torch_debugger.source.frames import user_frame
from torch_debugger.stats.resources import count_device, measure_memory
from torch_debugger.system.clocks import time


class MemoryWatch:
    PROCESS_EVERY_S, PROCESS_TIMES = 1.0, 200
    LOOK_TIMES = 1000
    SHARE_OF_TIME = 0.002  # of the run, for looks after an update that is not a deep step's

    def __init__(
        self, watch: Watch, forward: Forward, backward: Backward, lagging: AsyncSteps, numbers: StepNumbers
    ) -> None:
        self.watch = watch
        self.backward = backward
        self.lagging = lagging
        self.numbers = numbers
        self.latest: dict[str, MemoryLook] = {}  # by device: the last look before a backward
        self._spans = ModuleSpans(watch, forward)
        self._known = KnownVariables()
        self._before: dict[str, MemoryLook] = {}  # by device: the fullest of the step's backward calls
        self._batch: set[int] = set()  # numbers of the storages that the step's batch is in
        self._process = Spacing(self.PROCESS_EVERY_S, self.PROCESS_TIMES)
        self._looks = Spacing(0.0, self.LOOK_TIMES)
        self._next_look = math.inf
        backward.on_look.append(self._before_backward)
        watch.on_step.append(self._step_done)

    def _before_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        self.watch.probe("memory", self._look, loss, frame)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        now = time.monotonic()
        if self._before or (now >= self._next_look and self._looks.is_time(now)):
            self.watch.probe("memory", self._tell)
            self._before, self._batch = {}, set()
            ended = time.monotonic()
            self._next_look = ended + (ended - now) / self.SHARE_OF_TIME
            self._looks.done(now)
        if self._process.is_time(now):
            self._process.done(now)
            self.watch.probe("memory", self._tell_process, step)

    def _moment(self) -> MemoryMoment:
        return MemoryMoment(self.watch.step, self.backward, self.lagging, self.numbers, self._spans)

    def _look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        moment = self._moment()
        self._batch |= moment.state()
        moment.graph(loss)
        moment.variables(frame, self._known, self._batch)
        for found in moment.records(BEFORE_BACKWARD):
            known = self._before.get(found.device)
            if known is None or found.used_bytes > known.used_bytes:
                self._before[found.device] = found

    def _tell(self) -> None:
        after = self._moment()
        after.state()
        after.variables(user_frame(), self._known, self._batch)
        self.latest = self._before or self.latest
        for look in (*self._before.values(), *after.records(AFTER_UPDATE)):
            self.watch.emit(look)

    def _tell_process(self, step: int) -> None:
        self.watch.emit(measure_memory(step))


# What all memory is used for at one moment of a training: each storage counts once, none is kept alive.
@dataclass
class KnownVariables:
    """Of variables, from look to look."""

    sizes: dict[str, int] = field(default_factory=dict)  # when they were first seen
    oldest: dict[str, tuple[weakref.ref[torch.Tensor], int]] = field(default_factory=dict)  # and since when


class MemoryMoment:
    """One moment: first the state, then the loss's graph, then what variables hold beside them."""

    NODES = 20_000  # of autograd's graph that one look walks through, at 2 to 3 us each
    MODULES, VARIABLES = 8, 5  # told
    WORTH_A_LINE = 2**20  # bytes; of less, it is not looked for who adds to it

    def __init__(
        self, step: int, backward: Backward, lagging: AsyncSteps, numbers: StepNumbers, spans: ModuleSpans
    ) -> None:
        self.step = step
        self.backward = backward
        self.lagging = lagging
        self.numbers = numbers
        self.spans = spans
        self.tally = MemoryTally()
        self._modules: dict[torch.device, Counter[str]] = {}
        self._variables: dict[torch.device, list[HeldByVariable]] = {}
        self._nodes: set[Any] = set()
        self._whole = not backward.saved_hooks

    def state(self) -> set[int]:
        """What a step finds and leaves: models, optimizers; and its batch, whose storages are told."""
        roots = self.backward.roots.alive()
        optimizers = [optimizer for _, optimizer in self.backward.optimizers.live()]
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
        # In the order in which they were made: what two nodes keep is told of the one that made it.
        nodes = sorted(nodes_from([loss.grad_fn], self._nodes, self.NODES), key=lambda node: node._sequence_nr())
        for node in nodes:
            of_this_step = self.numbers.is_of_this_step(node)
            for tensor in saved_by(node):
                self._saved(tensor, node, of_this_step)
        self._whole = len(self._nodes) < self.NODES

    def _saved(self, tensor: torch.Tensor, node: Any, of_this_step: bool) -> None:
        if not of_this_step:
            self.tally.add(tensor, KEPT)
        elif is_copy_of_weight(tensor):
            self.tally.add(tensor, COPIES)
        else:
            size, module = self.tally.add(tensor, ACTIVATIONS), self.spans.module_of(node)
            if size and module is not None:
                self._modules.setdefault(tensor.device, Counter())[module] += size

    def variables(self, frame: FrameType | None, known: KnownVariables, batch: set[int]) -> None:
        """What they hold beside all that; and after them, what nobody but torch-debugger holds."""
        file = frame.f_code.co_filename if frame is not None else ""
        for pile in piles(frame):
            for device, size in self._sizes(pile, batch).items():
                self._add_variable(pile, device, size, known, file)
        self.tally.add_all(self.lagging.held(), WATCHER)

    def _sizes(self, pile: Pile, batch: set[int]) -> dict[torch.device, int]:
        """A container is as large as those of its entries that were looked at say."""
        by_device = Counter[torch.device]()
        shared = False
        for tensor in pile.sample:
            node = tensor.grad_fn
            if node is not None and self.numbers.is_of_this_step(node):
                self.tally.add(tensor, ACTIVATIONS)
            elif batch and self.tally.numbers_of(tensor) <= batch:
                self.tally.add(tensor, INPUTS)
            elif size := self.tally.claim(tensor) + self._graph_behind(node):
                by_device[tensor.device] += size
            else:
                shared = True  # of memory that was counted already: a view of what others view too
        count, sampled = (1, 1) if shared else (pile.count, pile.sampled)
        return {device: size * count // sampled for device, size in by_device.items()}

    def _graph_behind(self, node: Any) -> int:
        """Bytes that a tensor of an earlier step keeps beside itself."""
        if node is None or self.backward.saved_hooks:
            return 0
        found = nodes_from([node], self._nodes, self.NODES)
        return sum(self.tally.claim(tensor) for each in found for tensor in saved_by(each))

    def _add_variable(self, pile: Pile, device: torch.device, size: int, known: KnownVariables, file: str) -> None:
        at_first = min(known.sizes.setdefault(f"{device} {pile.name}", size), size)
        self.tally.put(device, VARIABLES, at_first)
        self.tally.put(device, KEPT, size - at_first)
        grows = pile.grows and size > at_first
        place, added = Place(), ""
        if grows and size >= self.WORTH_A_LINE:
            place, added = addition_to(file, pile.name)
        # When its first tensor was first seen there: a list that is emptied starts anew.
        seen = known.oldest.get(pile.name)
        if seen is None or seen[0]() is not pile.sample[0]:
            seen = known.oldest[pile.name] = (weakref.ref(pile.sample[0]), self.step)
        variable = HeldByVariable(pile.name, size, pile.count, grows, seen[1], place, added)
        self._variables.setdefault(device, []).append(variable)

    def records(self, moment: str) -> list[MemoryLook]:
        looks = []
        for device, parts in self.tally.by_device.items():
            modules = self._modules.get(device, Counter()).most_common(self.MODULES)
            variables = sorted(self._variables.get(device, []), key=lambda held: -held.size_bytes)
            counts = count_device(device)
            known = dict(parts)
            rest = counts.allocated_bytes - sum(known.values())
            if rest > 0:
                # What cuBLAS keeps for the thread of the forward and for autograd's, as far as there is room.
                threads = 2 if moment == AFTER_UPDATE or self.backward.count > 1 else 1
                size = cublas_bytes(device)
                known[WORKSPACE] = size * min(threads, rest // max(size, 1))
                known[REST] = rest - known[WORKSPACE]
            looks.append(
                MemoryLook(
                    self.step,
                    str(device),
                    moment,
                    known,
                    tuple(SavedByModule(path, size) for path, size in modules if size),
                    tuple(variables[: self.VARIABLES]),
                    counts.allocated_bytes,
                    counts.peak_bytes,
                    counts.cache_bytes,
                    counts.other_bytes,
                    counts.total_bytes,
                    self._whole,
                )
            )
        return looks
