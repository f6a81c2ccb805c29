"""The way of tensors through each model, told once: in an early deep step, when hooks are on anyway.

Never in the first step, where caches fill and lazy layers get their shapes. A model under torch.compile has no
hooks and is left alone. Parts that run without gradients are heard as well: a frozen backbone has a way too.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.graph_calls import Call, argument_names
from torch_debugger.anatomy.running import in_backward, in_transform
from torch_debugger.probes.flow_tracing import FlowTracer
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Root
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch


class DataFlow(Probe):
    name = "data flow"
    TRIES = 3  # calls that did not end well

    def __init__(self, watch: Watch, forward: Forward) -> None:
        super().__init__(watch)
        self.forward = forward
        self._tries: dict[int, int] = {}  # id of a root -> calls traced so far, or TRIES when it is told
        self._tracer: FlowTracer | None = None
        self._root: Root | None = None
        self._thread = 0
        forward.roots.on_call.append(self._begin)

    def begin_step(self, depth: int) -> None:
        self._drop()

    def give_up(self) -> None:
        self._drop()

    def remove(self) -> None:
        self._drop()

    def _listen(self) -> None:
        """Lists are made anew, never changed: a call of their members may be under way."""
        self.forward.on_every_enter = [*self.forward.on_every_enter, self._enter]
        self.forward.on_every_output = [*self.forward.on_every_output, self._leave]

    def _drop(self) -> None:
        if self._tracer is not None:
            self._tracer = self._root = None
            self.forward.on_every_enter = [each for each in self.forward.on_every_enter if each != self._enter]
            self.forward.on_every_output = [
                each for each in self.forward.on_every_output if each != self._leave
            ]

    def _begin(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if self._tracer is None and self._is_time(root):
            self.watch.probe(self.name, self._start, root, arguments, keywords)

    def _is_time(self, root: Root) -> bool:
        if self.watch.depth != DEEP or self.watch.step < 2 or self.forward.paused:
            return False
        if self.name in self.watch.guard.removed:
            return False
        calls = sum(times for (_, gradients), times in root.phases.items() if gradients)
        return calls > 1 and self._tries.get(id(root), 0) < self.TRIES

    def _start(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        module = root.module()
        if module is None or in_backward() or in_transform():
            return
        self._tries[id(root)] = self._tries.get(id(root), 0) + 1
        tracer = FlowTracer(module, root.name)
        with torch._C.DisableTorchFunctionSubclass():  # no code of a tensor subclass runs for us
            tracer.begin(argument_names(module, Call(arguments, keywords)))
        self._tracer, self._root, self._thread = tracer, root, threading.get_ident()
        self._listen()

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        if self._tracer is not None and threading.get_ident() == self._thread:
            self.watch.probe(self.name, self._hear_enter, self._tracer, module, arguments)

    def _leave(self, path: str, module: nn.Module, given: Any, made: Any) -> None:
        if self._tracer is not None and threading.get_ident() == self._thread:
            self.watch.probe(self.name, self._hear_leave, self._tracer, module, given, made)

    def _hear_enter(self, tracer: FlowTracer, module: nn.Module, arguments: Any) -> None:
        with torch._C.DisableTorchFunctionSubclass():
            tracer.enter(module, arguments)

    def _hear_leave(self, tracer: FlowTracer, module: nn.Module, given: Any, made: Any) -> None:
        root = self._root
        with torch._C.DisableTorchFunctionSubclass():
            tracer.leave(module, given, made)
            if root is not None and module is root.module():
                self._drop()
                self._tell(root, tracer, made)

    def _tell(self, root: Root, tracer: FlowTracer, made: Any) -> None:
        if made is not None:  # else it raised, and the next call may not
            self._tries[id(root)] = self.TRIES
            self.watch.emit(tracer.finish(made, self.watch.step))
