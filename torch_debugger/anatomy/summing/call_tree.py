"""The calls of a model's modules in one forward, as a tree: which was called by which."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.summing.parts import Parts
from torch_debugger.anatomy.summing.seen import Seen, seen_in
from torch_debugger.anatomy.summing.shape_meter import memory_behind
from torch_debugger.anatomy.summing.stopwatch import Stopwatch

Meter = Callable[[], float]  # a count that only grows: seconds, operations
MACS, SECONDS = "macs", "seconds"


@dataclass(eq=False)
class Node:
    """One call; or a container whose members were called, or a module that was not."""

    path: str
    module: nn.Module
    called: bool = True
    calls: int = 1
    inputs: tuple[Seen, ...] = ()
    outputs: tuple[Seen, ...] = ()
    output_bytes: int = 0  # of tensors that no module called inside has given
    spent: dict[str, float] = field(default_factory=dict)  # by meter, with the calls inside
    children: list[Node] = field(default_factory=list)
    handled: BaseException | None = None  # that the caller was dealing with

    def own(self, meter: str) -> float:
        """Without the calls inside."""
        return self.total(meter) - sum(child.total(meter) for child in self.children)

    def total(self, meter: str) -> float:
        if self.called and meter in self.spent:
            return self.spent[meter]
        return sum(child.total(meter) for child in self.children)


def nodes(root: Node) -> Iterator[Node]:
    """A call before the calls inside it."""
    yield root
    for child in root.children:
        yield from nodes(child)


class CallTree:
    """Listens while a model runs. `root` is the call of the model itself, once there was one."""

    def __init__(self, parts: Parts, watch: Stopwatch | None = None, macs: Meter | None = None) -> None:
        self._parts = parts
        self._paths = {module: path for path, module in parts.modules.items()}
        self._paused = watch.stopped if watch else contextlib.nullcontext
        meters: dict[str, Meter | None] = {SECONDS: watch, MACS: macs}
        self._meters = {name: meter for name, meter in meters.items() if meter is not None}
        self._open: list[Node] = []
        self._given: dict[int, weakref.ref[Any]] = {}  # memory that has been counted, while it lives
        self._raised: tuple[BaseException, Node] | None = None
        self.root: Node | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        handles = []
        try:
            # torch takes no hooks on scripted modules
            for module in [each for each in self._paths if not isinstance(each, torch.jit.ScriptModule)]:
                # before the user's own hooks, which may compute: an old spectral_norm makes its weight there
                handles.append(module.register_forward_pre_hook(self._enter, prepend=True, with_kwargs=True))
                handles.append(module.register_forward_hook(self._leave, with_kwargs=True, always_call=True))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def under_way(self) -> Node | None:
        """The innermost call that the last exception came from."""
        return self._raised[1] if self._raised else None

    def _enter(self, module: nn.Module, arguments: Any, keywords: Any) -> None:
        with self._paused():
            self._open_call(module, arguments, keywords)

    def _leave(self, module: nn.Module, arguments: Any, keywords: Any, output: Any) -> None:
        with self._paused():
            self._close_call(module, output)

    def _open_call(self, module: nn.Module, arguments: Any, keywords: Any) -> None:
        node = Node(self._paths[module], module, inputs=seen_in((*arguments, keywords)))
        node.handled = sys.exc_info()[1]
        if self._open:
            self._holder(node.path, self._open[-1]).children.append(node)
        elif self.root is None:
            self.root = node
            held = [*module.parameters(), *module.buffers()]
            self._count([value for value in held if not nn.parameter.is_lazy(value)])
            self._count(list(tensors_in((arguments, keywords))))
        self._open.append(node)
        node.spent = {name: -meter() for name, meter in self._meters.items()}

    def _holder(self, path: str, caller: Node) -> Node:
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
                known = [Node(between, self._parts.modules[between], called=False)]
                holder.children += known
            holder = known[0]
        return holder

    def _close_call(self, module: nn.Module, output: Any) -> None:
        while (node := self._open.pop()).module is not module:
            pass  # one whose own hook was skipped
        error = sys.exc_info()[1]  # of a forward that has raised
        told = self._raised[0] if self._raised else None
        if error is not None and error is not node.handled and error is not told:
            self._raised = error, node
        for name, meter in self._meters.items():
            node.spent[name] += meter()
        node.outputs = seen_in(output)
        node.output_bytes = self._count(list(tensors_in(output)))

    def _count(self, tensors: list[torch.Tensor]) -> int:
        """Bytes of memory not counted before: views and what was written in place take none."""
        found = 0
        for tensor in tensors:
            memory, size = memory_behind(tensor)
            known = self._given.get(id(memory))
            if known is None or known() is not memory:
                self._given[id(memory)] = weakref.ref(memory)
                found += size
        return found
