"""One step's module calls in order: from which line, and whether gradients can pass in and out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.forward_methods import forward_code
from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.graph_nodes import walk_nodes
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.running import in_backward
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch


@dataclass
class Call:
    path: str
    module: nn.Module
    lines: tuple[tuple[str, int], ...]  # the user's frames around it, the innermost first
    takes_grad: bool
    grad_mode: bool
    began: int  # numbers of events, to tell what came after what
    ended: int = -1
    gives_grad: bool = False
    passes_grad: bool = True  # what it gives leads back to what it was given; asked of users' modules
    given: tuple[Any, ...] = ()  # the nodes of the graph behind what it takes, while it runs


class Tracing:
    LIMIT = 2000  # calls
    FRAMES = 12
    NODES = 2000  # of the graph inside of one call

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self.roots = roots
        self.calls: list[Call] = []
        self._paths: dict[int, str] = {}
        self._events = 0
        self._handles: list[RemovableHandle] = []

    def start(self) -> None:
        self._events = 0
        self._paths = {key: path for root, _ in self.roots.alive() for key, path in root.paths.items()}
        self._handles = [
            module_hooks.register_module_forward_pre_hook(self._before),
            module_hooks.register_module_forward_hook(self._after),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles, self.calls = [], []

    def _before(self, module: nn.Module, arguments: Any) -> None:
        if id(module) in self._paths and len(self.calls) < self.LIMIT and not in_backward():
            self.watch.probe("unreached parts", self._enter, module, arguments)

    def _after(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if self.calls:
            self.watch.probe("unreached parts", self._leave, module, output)

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        users = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)]
        lines = tuple((frame.f_code.co_filename, frame.f_lineno) for frame in users[: self.FRAMES])
        takes = any(tensor.requires_grad for tensor in tensors_in(arguments))
        call = Call(self._paths[id(module)], module, lines, takes, torch.is_grad_enabled(), self._events)
        if takes and is_user_file(_file_of(module)):
            call.given = tuple(tensor.grad_fn for tensor in tensors_in(arguments) if tensor.grad_fn is not None)
        self._events += 1
        self.calls.append(call)

    def _leave(self, module: nn.Module, output: Any) -> None:
        call = next((each for each in reversed(self.calls) if each.module is module and each.ended < 0), None)
        if call is not None:
            call.ended = self._events
            call.gives_grad = any(tensor.requires_grad for tensor in tensors_in(output))
            if call.given:
                call.passes_grad = self._leads_back(output, call.given)
                call.given = ()
            self._events += 1

    def _leads_back(self, output: Any, given: tuple[Any, ...]) -> bool:
        wanted = set(given)
        for tensor in tensors_in(output):
            if tensor.grad_fn is not None:
                nodes, _, more = walk_nodes(tensor.grad_fn, self.NODES)
                if more or wanted.intersection(nodes):
                    return True
        return False


def _file_of(module: nn.Module) -> str:
    code = forward_code(module)
    return code.co_filename if code is not None else "<none>"
