"""Deep steps: what every module made, in the order they ran, and what came back to it.

The hooks are global ones, so that nothing hangs on the user's modules, and they are on during
deep steps only. Gradients are read by a pre-hook on the output's autograd node: full backward
hooks break models with in-place modules.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.frames import is_ours
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.roots import Root, Roots, module_paths
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.strays import Strays
from torch_debugger.probes.watch import Probe, Watch
from torch_debugger.records import FlowFact, FlowStep, Table, TensorRows
from torch_debugger.stats.summary import COLUMNS, measurable, measure

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class Forward(Probe):
    name = "forward"
    LIMIT = 512  # modules measured in one step

    def __init__(self, watch: Watch, roots: Roots, strays: Strays) -> None:
        super().__init__(watch)
        self.roots = roots
        self.strays = strays
        self.keep_flow = False  # a Debugger wants shapes and times
        self.ran: set[int] = set()  # modules that ran in this deep step
        self.paused = False  # a compiled region must not see hooks
        self._handles: list[RemovableHandle] = []
        self._calls = threading.local()
        self._outputs: dict[str, torch.Tensor] = {}
        self._gradients: dict[str, torch.Tensor] = {}
        self._flow: list[FlowStep] = []
        self._roots_called: dict[str, None] = {}

    def install(self, patches: Patches) -> None:
        patches.replace(torch, "compile", self._around_compile)

    def begin_step(self, depth: int) -> None:
        self._forget_step()
        if depth == DEEP and not self.paused:
            self._hooks_on()
        else:
            self._hooks_off()

    def end_step(self) -> None:
        if self.keep_flow and self._flow:
            self.emit_flow()
        self._emit("activation", self._outputs)
        self._emit("output_gradient", self._gradients)

    def remove(self) -> None:
        self._hooks_off()

    def emit_flow(self) -> None:
        root = next(iter(self._roots_called), None)
        if self._flow and root is not None:
            self.watch.emit(FlowFact(root, tuple(self._flow), self.watch.step))
            self._flow = []

    def _forget_step(self) -> None:
        self._outputs, self._gradients, self._flow, self._roots_called = {}, {}, [], {}
        self.ran = set()
        self._calls.stack = []

    def _hooks_on(self) -> None:
        if not self._handles:
            self._handles = [
                module_hooks.register_module_forward_pre_hook(self._before),
                module_hooks.register_module_forward_hook(self._after),
            ]

    def _hooks_off(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _around_compile(self, original: Any) -> Any:
        # Hooks that dynamo meets while tracing are compiled in, and taking them off recompiles.
        def compile(*arguments: Any, **keywords: Any) -> Any:
            self.watch.probe("compile", self._meet_compile, arguments)
            return original(*arguments, **keywords)

        compile.__wrapped__ = original  # type: ignore[attr-defined]
        compile.__doc__ = original.__doc__
        return compile

    def _meet_compile(self, arguments: tuple[Any, ...]) -> None:
        if not self.paused:
            self.paused = True
            self._hooks_off()
            self.watch.notice(
                "torch.compile is in use: layers inside compiled regions are not looked into; "
                "loss, gradients, weights and updates are."
            )
        for value in arguments[:1]:
            if isinstance(value, nn.Module):
                self.roots.meet_compiled(value)

    # The hooks themselves: the guard keeps their faults and their time

    def _before(self, module: nn.Module, arguments: Any) -> None:
        if torch.is_grad_enabled():
            self.watch.probe("forward", self._enter, module, arguments)

    def _after(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if torch.is_grad_enabled():
            self.watch.probe("forward", self._leave, module, arguments, output)

    def _stack(self) -> list[tuple[nn.Module, Root | None, float]]:
        try:
            return self._calls.stack  # type: ignore[no-any-return]
        except AttributeError:  # the first call in another thread
            self._calls.stack = []
            return self._calls.stack  # type: ignore[no-any-return]

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        stack = self._stack()
        if stack:
            root = stack[0][1]
        else:
            self.watch.governor.begin()
            root = self._meet(module, arguments)
        stack.append((module, root, time.perf_counter()))

    def _meet(self, module: nn.Module, arguments: Any) -> Root | None:
        frame = sys._getframe(2)
        while frame.f_back is not None and is_ours(frame):
            frame = frame.f_back
        known = self.roots.of(module)
        root = known or self.roots.meet(module, frame)
        if root is None:
            return None
        self._roots_called[root.name] = None
        if known is None:  # its gate was not there yet when this call came in
            self.roots.enter(root, arguments, {})
        return root

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        stack = self._stack()
        while stack and stack[-1][0] is not module:
            stack.pop()  # a call that ended by an exception the user caught
        if not stack:
            return
        _, root, began = stack.pop()
        if root is None:
            return
        self.ran.add(id(module))
        path = self._path(module, root, [entry[0] for entry in stack])
        tensor = first_tensor(output)
        if self.keep_flow and len(self._flow) < self.LIMIT:
            self._flow.append(
                flow_step(path, module, arguments, output, time.perf_counter() - began, len(stack))
            )
        if tensor is None or isinstance(module, _CONTAINERS) or len(self._outputs) >= self.LIMIT:
            return
        if path not in self._outputs and measurable(tensor):
            with torch.no_grad():
                self._outputs[path] = measure(tensor)
            self._follow_gradient(path, tensor)

    def _path(self, module: nn.Module, root: Root, callers: list[nn.Module]) -> str:
        path = root.paths.get(id(module))
        if path is None:
            whole = root.module()
            if whole is not None:
                root.paths = module_paths(whole, root.name)  # the model may have grown since
            path = root.paths.get(id(module))
        if path is None:
            path = self.strays.meet(module, root, callers)
            root.paths[id(module)] = path
        return path

    def _follow_gradient(self, path: str, tensor: torch.Tensor) -> None:
        node = tensor.grad_fn
        if node is None:
            return
        index, step = tensor.output_nr, self.watch.step

        def read(gradients: tuple[torch.Tensor | None, ...]) -> None:
            self.watch.probe("output gradients", self._take_gradient, path, gradients, index, step)

        node.register_prehook(read)

    def _take_gradient(self, path: str, gradients: Any, index: int, step: int) -> None:
        gradient = gradients[index]
        if step == self.watch.step and path not in self._gradients and measurable(gradient):
            with torch.no_grad():
                self._gradients[path] = measure(gradient)

    def _emit(self, kind: str, numbers: dict[str, torch.Tensor]) -> None:
        by_device: dict[torch.device, list[str]] = {}
        for path, values in numbers.items():
            by_device.setdefault(values.device, []).append(path)
        for paths in by_device.values():
            table = Table(kind, paths[0].split(".")[0], tuple(paths), COLUMNS)
            values = torch.stack([numbers[path] for path in paths])
            self.watch.transfer.send(values, functools.partial(self._deliver, table, self.watch.step))

    def _deliver(self, table: Table, step: int, values: Any) -> None:
        self.watch.emit(TensorRows(step, table, values))


def flow_step(path: str, module: nn.Module, arguments: Any, output: Any, time_s: float, depth: int) -> FlowStep:
    tensor = first_tensor(output)
    made_bytes = tensor.numel() * tensor.element_size() if tensor is not None else 0
    parameters = sum(p.numel() for p in module.parameters() if not nn.parameter.is_lazy(p))
    kind = type(module).__name__
    return FlowStep(path, kind, shapes(arguments), shapes(output), time_s, depth, made_bytes, parameters)


def first_tensor(value: Any) -> torch.Tensor | None:
    """The first tensor of an output, whatever holds it; one level deep in tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            found = first_tensor(item) if isinstance(item, (torch.Tensor, tuple, list)) else None
            if found is not None:
                return found
    return None


def shapes(value: Any) -> tuple[tuple[int, ...], ...]:
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape),)
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return tuple(tuple(item.shape) for item in value[:4] if isinstance(item, torch.Tensor))
    return ()
