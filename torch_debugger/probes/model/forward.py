"""Deep steps: what every module made, in the order they ran, and what came back to it.

The hooks are global ones, so that nothing hangs on the user's modules, and they are on during
deep steps only. Gradients are read by a pre-hook on the output's autograd node: full backward
hooks break models with in-place modules.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.hooks import in_backward, in_transform
from torch_debugger.model.nested_tensors import first_tensor, tensors_in
from torch_debugger.probes.model.root_modules import RootModule, RootModules, UnregisteredModules
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP, NONE
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FlowFact, FlowStep, Table, TensorRows
from torch_debugger.source.frames import call_frame, frames, locals_of
from torch_debugger.source.variables import module_paths
from torch_debugger.stats import summary as underflow
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import COLUMNS, measurable, measure
from torch_debugger.system.clocks import time

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class Forward(Probe):
    name = "forward"
    deep_only = True
    LIMIT = 512  # modules measured in one step

    def __init__(self, watch: Watch, roots: RootModules, strays: UnregisteredModules) -> None:
        super().__init__(watch)
        self.roots = roots
        self.strays = strays
        self.flow = Flow(watch)
        self.ran: set[int] = set()  # modules that ran in this deep step
        # Of every call inside of one with gradients, also of those without them: its arguments by place
        self.on_every_enter: list[Callable[[nn.Module, Any], None]] = []
        self.on_every_output: list[Callable[[str, nn.Module, Any, Any], None]] = []
        self.on_layer: list[Callable[[str, nn.Module, Any], None]] = []  # (its path, itself, what it was given)
        self.on_output: list[Callable[[str, nn.Module, Any, Any], None]] = []  # the same, and what it made
        self.on_quiet: list[Callable[[nn.Module, Any, Any], None]] = []  # outermost calls without gradients
        self._quiet: nn.Module | None = None  # such a call under way
        self.paused = False  # a compiled region must not see hooks
        self.makes_half = False  # some module's output has been float16
        self._handles: list[RemovableHandle] = []
        self._node_handles: list[RemovableHandle] = []
        self._calls = Calls()
        self._measuring = False
        self._outputs: dict[str, MeasuredOutput] = {}
        self._gradients: dict[str, MeasuredOutput] = {}

    def begin_step(self, depth: int) -> None:
        self._outputs, self._gradients, self.ran = {}, {}, set()
        for handle in self._node_handles:
            handle.remove()
        self._node_handles = []
        self._calls.stack, self._quiet = [], None
        self._measuring = depth == DEEP
        if depth == DEEP:
            self.look()
        else:
            self._hooks_off()

    def end_step(self) -> None:
        send_rows(self.watch, "activation", self._outputs)
        send_rows(self.watch, "output_gradient", self._gradients)

    def remove(self) -> None:
        self.begin_step(NONE)

    def look(self) -> None:
        """Put the hooks on for the rest of this step."""
        if not self._handles and not self.paused:
            self._handles = [
                module_hooks.register_module_forward_pre_hook(self._before),
                module_hooks.register_module_forward_hook(self._after, with_kwargs=True, always_call=True),
            ]

    def _hooks_off(self) -> None:
        for handle in self._handles:
            handle.remove()
            module_hooks._global_forward_hooks_with_kwargs.pop(handle.id, None)  # torch forgets to
        self._handles = []

    give_up = _hooks_off

    def pause(self) -> None:
        """For good."""
        self.paused = True
        self._hooks_off()

    # The hooks themselves: the guard keeps their faults and their time

    def _before(self, module: nn.Module, arguments: Any) -> None:
        # Inside of a call that was entered also without gradients: its own end would else be taken for lost.
        too_deep = self.watch.guard.contain("forward", self._calls.are_too_deep)
        if not self.watch.is_training_thread() or self.watch.keep_to_limit(bool(too_deep)):
            return
        is_followed = torch.is_grad_enabled() or self.flow.wanted or self._calls.stack
        if is_followed and not torch._C._get_tracing_state():
            self.watch.probe("forward", self._enter, module, arguments)
        if self._quiet is None and self._measuring and not torch.is_grad_enabled():
            self._quiet = module

    def _after(self, module: nn.Module, arguments: Any, *rest: Any) -> None:
        """`rest` is (keywords, output), or after an exception the output alone."""
        if not self.watch.is_training_thread():
            return
        if self._quiet is module:
            self._quiet = None
            for hear in self.on_quiet:
                self.watch.probe("quiet calls", hear, module, (arguments, rest[:-1]), rest[-1])
        if self._calls.stack:
            self.watch.probe("forward", self._leave, module, arguments, rest[:-1], rest[-1])

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        start = time.perf_counter()
        calls = self._calls
        if calls.stack:
            root = calls.stack[0].root
        else:
            calls.rows, calls.modules = [], 0
            root = self._meet(module, arguments)
        self.watch.governor.foresee(calls.begin_module(root, self.watch.guard.spent_s))
        row = None  # where enough are kept
        if root is not None and self.flow.wanted and len(calls.rows) < Flow.MODULES and not in_backward():
            calls.rows.append(None)
            row = len(calls.rows) - 1
        began = time.perf_counter()
        calls.own_s += began - start
        calls.stack.append(Entered(module, root, row, id(sys.exc_info()[1]), calls.own_s, began))
        if self._measuring and root is not None:
            for hear in self.on_every_enter:
                self.watch.hear("layer listeners", hear, module, arguments)

    def _meet(self, module: nn.Module, arguments: Any) -> RootModule | None:
        if in_backward():  # a checkpointed block runs once more: no model of its own
            return self.roots.holder(module)
        root = self.roots.of(module)
        if root is None:
            call = call_frame(sys._getframe(2))
            root = self.roots.meet(module, call or sys._getframe(2))
            if root is not None:  # its gate was not there yet when this call came in
                self.roots.enter(root, arguments, locals_of(call)["kwargs"] if call is not None else {})
        if torch.is_grad_enabled():
            self.watch.governor.begin()
        elif root is not None and not self.flow.is_curious(root.name):
            return None  # one of many validation batches
        return root

    def _leave(self, module: nn.Module, arguments: Any, keywords: Any, output: Any) -> None:
        ended = time.perf_counter()
        stack = self._calls.stack
        while stack and stack[-1].module is not module:
            stack.pop()  # calls that ended by Ctrl-C, which the user caught
        if stack:
            entered = stack.pop()
            if entered.root is not None:
                self._look_at(entered, entered.root, (arguments, keywords), output, ended)
        self._calls.own_s += time.perf_counter() - ended

    def _look_at(self, entered: Entered, root: RootModule, inputs: Any, output: Any, ended: float) -> None:
        calls, module = self._calls, entered.module
        path = self._path(module, root, [entry.module for entry in calls.stack])
        if entered.row is not None:
            time_s = ended - entered.began - (calls.own_s - entered.own_s)
            failed = output is None and id(sys.exc_info()[1]) != entered.handling
            calls.rows[entered.row] = flow_step(path, module, inputs, output, time_s, len(calls.stack), failed)
        if not calls.stack and calls.rows:
            self.flow.tell(root.name, calls.rows, calls.modules)
        if self._measuring:
            for hear in self.on_every_output:
                self.watch.hear("layer listeners", hear, path, module, inputs, output)
        if self._measuring and torch.is_grad_enabled():
            self.ran.add(id(module))
            self._measure(path, module, output)
            for listen in self.on_layer:
                self.watch.hear("layer listeners", listen, path, module, inputs)
            for hear in self.on_output:
                self.watch.hear("layer listeners", hear, path, module, inputs, output)

    def _measure(self, path: str, module: nn.Module, output: Any) -> None:
        if path in self._outputs or len(self._outputs) >= self.LIMIT or isinstance(module, _CONTAINERS):
            return
        tensor = first_tensor(output)
        if tensor is not None and measurable(tensor) and not in_transform():
            self._outputs[path] = take_numbers(tensor)
            self.makes_half = self.makes_half or tensor.dtype is torch.float16
            if tensor.grad_fn is not None:
                known = (path, tensor.output_nr, self.watch.step)
                take = functools.partial(self.watch.probe, "output gradients", self._take_gradient, *known)
                self._node_handles.append(tensor.grad_fn.register_prehook(take))

    def known_path(self, module: nn.Module) -> str | None:
        """None for a module that no deep step has met, and for containers."""
        if isinstance(module, _CONTAINERS):
            return None
        return next((root.paths[id(module)] for root, _ in self.roots.alive() if id(module) in root.paths), None)

    def _path(self, module: nn.Module, root: RootModule, callers: list[nn.Module]) -> str:
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

    def _take_gradient(self, path: str, index: int, step: int, gradients: Any) -> None:
        gradient = gradients[index]
        if step == self.watch.step and path not in self._gradients and measurable(gradient):
            self._gradients[path] = take_numbers(gradient)


# The module calls under way, as the hooks of a deep step see them begin and end.
_COUNTED = 8  # nested calls, after which the frames are counted again
_TRIED_FROM, _TRIED_TO = 768, 1024  # calls that tell what one costs, after those that are measured in full


@dataclass(slots=True)
class Entered:
    """A module call under way."""

    module: nn.Module
    root: RootModule | None
    row: int | None  # its place in the flow
    handling: int  # id of the exception that was being handled when it began
    own_s: float  # our own time in this thread so far: it is not the module's
    began: float


class Calls(threading.local):
    """The calls under way in one thread, outermost first."""

    def __init__(self) -> None:
        self.stack: list[Entered] = []
        self.rows: Rows = []
        self.modules = 0  # that began since the outermost call did
        self.own_s = 0.0
        self._spent_before_s = 0.0

    def begin_module(self, root: RootModule | None, spent_s: float) -> float:
        """One more module of this model is called, and so much has gone into this step's look. Once in each
        call of a huge model: what the look will come to, as far as a part of it tells. Else 0."""
        self.modules += 1
        if self.modules == _TRIED_FROM:
            self._spent_before_s = spent_s
        if self.modules != _TRIED_TO or root is None:
            return 0.0
        each_s = (spent_s - self._spent_before_s) / (_TRIED_TO - _TRIED_FROM)
        to_come_s = each_s * (len(root.paths) - _TRIED_TO)
        return spent_s + 2.0 * to_come_s  # its gradients and its update take about as long again

    def are_too_deep(self) -> bool:
        """A call that is heard takes one frame more than others: what plain Python can just do must not end
        in a RecursionError. Without hooks, the calls further inside take no more than they would."""
        if not self.stack or len(self.stack) % _COUNTED:
            return False
        return sum(1 for _ in frames()) > sys.getrecursionlimit() // 8


# What each call of a model ran, module by module: shapes and times, while somebody wants to know.
Rows = list[FlowStep | None]  # callers before what they call; None: still running


class Flow:
    MODULES = 512  # kept of one call
    CALLS = 16  # told of a root whatever they say, then only calls with other shapes
    OTHER_CALLS = 256  # sequences of all lengths must not fill the log

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.wanted = 0  # how many debuggers ask
        self._reported: dict[str, tuple[int, int]] = {}  # root -> calls told, what the last one looked like

    def want(self) -> None:
        self.wanted += 1
        self._reported = {}

    def leave(self) -> None:
        self.wanted -= 1

    def is_curious(self, root: str) -> bool:
        """Whether the next call of this root is told in any case."""
        return self.wanted > 0 and self._reported.get(root, (0, 0))[0] < self.CALLS

    def tell(self, root: str, rows: Rows, modules: int) -> None:
        """The outermost call has ended, having run this many modules."""
        steps = tuple(step for step in rows if step is not None)
        looks = hash(tuple((step.path, step.given, step.made, step.failed) for step in steps))
        count, last = self._reported.get(root, (0, 0))
        if count < self.CALLS or (looks != last and count < self.OTHER_CALLS):
            self._reported[root] = (count + 1, looks)
            self.watch.emit(FlowFact(root, steps, self.watch.step, modules - len(steps)))


def flow_step(
    path: str, module: nn.Module, inputs: Any, made: Any, time_s: float, depth: int, failed: bool
) -> FlowStep:
    return FlowStep(
        path=path,
        kind=getattr(module, "original_name", None) or type(module).__name__,  # of a scripted module: its class
        given=_shapes(inputs),
        made=_shapes(made),
        time_s=time_s,
        depth=depth,
        made_bytes=sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(made)),
        parameters=sum(p.numel() for p in module.parameters() if not nn.parameter.is_lazy(p)),
        failed=failed,
    )


def _shapes(value: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(tensor.shape) for tensor in tensors_in(value))


# Tensors measured in one deep step, gathered into tables.
class MeasuredOutput(NamedTuple):
    numbers: torch.Tensor
    dtype: torch.dtype


@no_grad()
def take_numbers(tensor: torch.Tensor) -> MeasuredOutput:
    numbers = measure(tensor)
    if underflow.can_underflow(tensor):
        numbers = torch.cat((numbers, underflow.measure_underflow(tensor)))
    return MeasuredOutput(numbers, tensor.dtype)


def send_rows(
    watch: Watch,
    kind: str,
    measured: Mapping[str, MeasuredOutput],
    columns: tuple[str, ...] = (*COLUMNS, *underflow.UNDERFLOW_COLUMNS),
) -> None:
    """One table a device, told with its values when they have come; the last columns only where a tensor has them."""
    by_device: dict[torch.device, list[str]] = {}
    for path, tensor in measured.items():
        by_device.setdefault(tensor.numbers.device, []).append(path)
    for paths in by_device.values():
        dtypes = tuple(str(measured[path].dtype).removeprefix("torch.") for path in paths)
        rows = [measured[path].numbers for path in paths]
        width = max(map(len, rows))
        for number, row in enumerate(rows):
            if len(row) < width:  # NaN in the columns that only some of the tensors have
                rows[number] = torch.cat((row, row.new_full((width - len(row),), math.nan)))
        values = torch.stack(rows)
        table = Table(kind, paths[0].split(".")[0], tuple(paths), columns[:width], dtypes)
        watch.transfer.send(values, functools.partial(_emit_rows, watch, table, watch.step))


def _emit_rows(watch: Watch, table: Table, step: int, values: Any) -> None:
    watch.emit(TensorRows(step, table, values))
