"""The rows of a summary: one for each call of a module, in order, numbers and words only."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from torch_debugger.model.hooks import has_forward
from torch_debugger.model.nested_tensors import NamedSize, dtype_name, seen_in, tensors_in
from torch_debugger.model.op_counter import memory_behind
from torch_debugger.model.parameter_counts import ModuleParts, OwnedParameter
from torch_debugger.system.clocks import time


@dataclass(frozen=True)
class Own:
    """What a row adds to the totals: no other row has it, so that every column sums up to its total."""

    params: int = 0
    trainable_params: int = 0
    param_bytes: int = 0
    macs: int = 0
    output_bytes: int = 0
    seconds: float = 0.0

    def __add__(self, other: Own) -> Own:
        return Own(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True)
class Row:
    """A module in one of its calls. `params` are all of the module, `own.params` those first met here."""

    path: str
    name: str  # as the module that calls it knows it
    kind: str  # its class
    depth: int
    calls: int  # one after the other, with the same sizes
    called: bool
    idle: bool  # it could have been called in the run, and neither it nor a part of it was
    reused: bool  # there is a row of this module above
    kernel: tuple[int, ...] | None
    inputs: tuple[NamedSize, ...]
    outputs: tuple[NamedSize, ...]
    params: int
    trainable_params: int
    held: tuple[OwnedParameter, ...]  # parameters of its own
    tied: tuple[str, ...]  # those of them that a row above has too
    dtype: str
    device: str
    own: Own
    alike: int = 1  # where a table shows several rows as one: how many they are

    @property
    def input_size(self) -> list[int]:
        """Of the first tensor."""
        return list(self.inputs[0].size) if self.inputs else []

    @property
    def output_size(self) -> list[int]:
        return list(self.outputs[0].size) if self.outputs else []

    @property
    def trainable(self) -> str:
        """True, False or Partial; -- without parameters."""
        if not self.params:
            return "--"
        if self.trainable_params in (0, self.params):
            return str(self.trainable_params > 0)
        return "Partial"


class RowMaker:
    """Goes through a tree once and counts each parameter where it meets it first."""

    def __init__(self, parts: ModuleParts) -> None:
        self._parts = parts
        self._rows: list[Row] = []
        self._counted: dict[int, str] = {}  # parameter -> path of the module it was counted for
        self._met: set[str] = set()
        self._inside = _parameters_inside(parts)
        self._ran = False

    def rows(self, root: CallNode) -> tuple[Row, ...]:
        self._ran = root.called
        self._add(root, root.path, 0)
        return tuple(self._rows)

    def _add(self, node: CallNode, caller: str, depth: int) -> None:
        parameters = self._parts.held(node.path)
        new = [one for one in parameters if one.key not in self._counted]
        tied = tuple(one.name for one in parameters if self._counted.get(one.key, node.path) != node.path)
        self._counted |= {one.key: node.path for one in new}
        inside = list(self._inside[node.path].values())
        # lists and dictionaries of modules cannot be called; a scripted module cannot be heard
        can_be_called = not isinstance(node.module, torch.jit.ScriptModule) and has_forward(node.module)
        # below its caller the last part of the path; of a module from elsewhere the whole
        is_below = node.path.startswith(f"{caller}." if caller else "")
        row = Row(
            path=node.path,
            name=node.path.rpartition(".")[2] if is_below else node.path,
            kind=class_name(node.module),
            depth=depth,
            calls=node.calls,
            called=node.called,
            idle=self._ran and can_be_called and not any(each.called for each in nodes(node)),
            reused=node.path in self._met,
            kernel=_kernel(node.module),
            inputs=node.inputs,
            outputs=node.outputs,
            params=sum(one.elements for one in inside),
            trainable_params=sum(one.elements for one in inside if one.trainable),
            held=tuple(parameters),
            tied=tied,
            dtype=_dtypes(inside, node.outputs),
            device=_joined(str(one.device) for one in inside),
            own=Own(
                sum(one.elements for one in new),
                sum(one.elements for one in new if one.trainable),
                sum(one.bytes for one in new),
                round(node.own(MACS)),
                node.output_bytes,
                node.own(SECONDS),
            ),
        )
        self._met.add(node.path)
        self._rows.append(row)
        for child in node.children:
            self._add(child, node.path, depth + 1)


def down_to(rows: tuple[Row, ...], depth: int) -> list[Row]:
    """Rows that lie deeper are added to the one above them that is shown."""
    shown: list[Row] = []
    for row in rows:
        if row.depth <= depth or not shown:
            shown.append(row)
        else:
            shown[-1] = replace(shown[-1], own=shown[-1].own + row.own)
    return shown


def _parameters_inside(parts: ModuleParts) -> dict[str, dict[int, OwnedParameter]]:
    """What a module and all modules below it hold, each parameter once."""
    inside: dict[str, dict[int, OwnedParameter]] = {path: {} for path in parts.modules}
    for path in parts.modules:
        own = {one.key: one for one in parts.held(path)}
        above = path
        while own:
            inside[above] |= own
            if not above:
                break
            above = parts.parent(above)
    return inside


def class_name(module: nn.Module) -> str:
    """As its owner knows it: a parametrized Conv2d is a Conv2d, a scripted one what it was made from."""
    if parametrize.is_parametrized(module):
        return type(module).__mro__[1].__name__
    return str(getattr(module, "original_name", None) or type(module).__name__)


def _kernel(module: nn.Module) -> tuple[int, ...] | None:
    kernel: Any = getattr(module, "kernel_size", None)
    several = kernel if isinstance(kernel, (tuple, list)) else (kernel,)
    return tuple(several) if all(type(size) is int for size in several) else None


def _dtypes(inside: list[OwnedParameter], outputs: tuple[NamedSize, ...]) -> str:
    """Of its parameters, and of what it gives where that differs: bfloat16 -> float32."""
    of_parameters = _joined(dtype_name(one.dtype) for one in inside)
    of_outputs = _joined(one.dtype for one in outputs[:1])
    if of_parameters in ("--", of_outputs) or of_outputs == "--":
        return of_parameters if of_outputs == "--" else of_outputs
    return f"{of_parameters} -> {of_outputs}"


def _joined(words: Any) -> str:
    return ", ".join(sorted(set(words))) or "--"


# The calls of a model's modules in one forward, as a tree: which was called by which.
Meter = Callable[[], float]  # a count that only grows: seconds, operations
MACS, SECONDS = "macs", "seconds"


@dataclass(eq=False)
class CallNode:
    """One call; or a container whose members were called, or a module that was not."""

    path: str
    module: nn.Module
    called: bool = True
    calls: int = 1
    inputs: tuple[NamedSize, ...] = ()
    outputs: tuple[NamedSize, ...] = ()
    output_bytes: int = 0  # of tensors that no module called inside has given
    spent: dict[str, float] = field(default_factory=dict)  # by meter, with the calls inside
    children: list[CallNode] = field(default_factory=list)
    handled: BaseException | None = None  # that the caller was dealing with

    def own(self, meter: str) -> float:
        """Without the calls inside."""
        return self.total(meter) - sum(child.total(meter) for child in self.children)

    def total(self, meter: str) -> float:
        if self.called and meter in self.spent:
            return self.spent[meter]
        return sum(child.total(meter) for child in self.children)


def nodes(root: CallNode) -> Iterator[CallNode]:
    """A call before the calls inside it."""
    yield root
    for child in root.children:
        yield from nodes(child)


class CallTree:
    """Listens while a model runs. `root` is the call of the model itself, once there was one."""

    def __init__(self, parts: ModuleParts, watch: Stopwatch | None = None, macs: Meter | None = None) -> None:
        self._parts = parts
        self._paths = {module: path for path, module in parts.modules.items()}
        self._paused = watch.stopped if watch else contextlib.nullcontext
        meters: dict[str, Meter | None] = {SECONDS: watch, MACS: macs}
        self._meters = {name: meter for name, meter in meters.items() if meter is not None}
        self._open: list[CallNode] = []
        self._counted_memory: dict[int, weakref.ref[Any]] = {}  # memory that has been counted, while it lives
        self._raised: tuple[BaseException, CallNode] | None = None
        self.root: CallNode | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        with contextlib.ExitStack() as hooks:
            # torch takes no hooks on scripted modules
            for module in [each for each in self._paths if not isinstance(each, torch.jit.ScriptModule)]:
                # before the user's own hooks, which may compute: an old spectral_norm makes its weight there
                hooks.enter_context(module.register_forward_pre_hook(self._enter, prepend=True, with_kwargs=True))
                hooks.enter_context(module.register_forward_hook(self._leave, with_kwargs=True, always_call=True))
            yield

    def last_raised(self) -> CallNode | None:
        """The innermost call that the last exception came from."""
        return self._raised[1] if self._raised else None

    def _enter(self, module: nn.Module, arguments: Any, keywords: Any) -> None:
        with self._paused():
            node = CallNode(self._paths[module], module, inputs=seen_in((*arguments, keywords)))
            node.handled = sys.exc_info()[1]
            if self._open:
                self._holder(node.path, self._open[-1]).children.append(node)
            elif self.root is None:
                self.root = node
                tensors = [*module.parameters(), *module.buffers()]
                self._count([value for value in tensors if not nn.parameter.is_lazy(value)])
                self._count(list(tensors_in((arguments, keywords))))
            self._open.append(node)
            node.spent = {name: -meter() for name, meter in self._meters.items()}

    def _leave(self, module: nn.Module, arguments: Any, keywords: Any, output: Any) -> None:
        with self._paused():
            while (node := self._open.pop()).module is not module:
                pass  # one whose own hook was skipped
            error = sys.exc_info()[1]  # of a forward that has raised
            noted = self._raised[0] if self._raised else None
            if error is not None and error is not node.handled and error is not noted:
                self._raised = error, node
            for name, meter in self._meters.items():
                node.spent[name] += meter()
            node.outputs = seen_in(output)
            node.output_bytes = self._count(list(tensors_in(output)))

    def _holder(self, path: str, caller: CallNode) -> CallNode:
        """The list or dictionary of modules between a call and its caller, which nobody calls."""
        beginning = f"{caller.path}." if caller.path else ""
        if not path.startswith(beginning):
            return caller  # a module from elsewhere in the model
        holder = caller
        names = path[len(beginning) :].split(".")[:-1]
        for place in range(len(names)):
            between = beginning + ".".join(names[: place + 1])
            known = [node for node in holder.children if node.path == between and not node.called]
            if not known:
                known = [CallNode(between, self._parts.modules[between], called=False)]
                holder.children += known
            holder = known[0]
        return holder

    def _count(self, tensors: list[torch.Tensor]) -> int:
        """Bytes of memory not counted before: views and what was written in place take none."""
        found = 0
        for tensor in tensors:
            memory, size = memory_behind(tensor)
            known = self._counted_memory.get(id(memory))
            if known is None or known() is not memory:
                self._counted_memory[id(memory)] = weakref.ref(memory)
                found += size
        return found


# Seconds of a model's own: the watch stands still while we write down what we saw.
class Stopwatch:
    def __init__(self, device: torch.device | None) -> None:
        self._waits = device is not None and device.type not in ("cpu", "meta")
        self._lost_s = 0.0
        self._stopped_at: float | None = None

    def _now(self) -> float:
        if self._waits:
            torch.accelerator.synchronize()  # an accelerator works on after a call has returned
        return time.perf_counter()

    def __call__(self) -> float:
        now = self._now() if self._stopped_at is None else self._stopped_at
        return now - self._lost_s

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        self._stopped_at = self._now()
        try:
            yield
        finally:
            self._lost_s += self._now() - self._stopped_at
            self._stopped_at = None
