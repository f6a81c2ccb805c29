"""Every operation of a run, with its cost, added up by phase, module and operation."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.model.layers import clean_path, every_path
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.op_costs import FREE, Cost, cost_of, is_view, operation_name
from torch_debugger.model.shape_tensors import ShapeTensor, has_own_ways, run_on_shapes
from torch_debugger.model.tensor_memory import memory_of
from torch_debugger.records import Place
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import frames, is_ours, place_of

FORWARD, BACKWARD, RECOMPUTED = "forward", "backward", "recomputed"


class CountedOperation(NamedTuple):
    phase: str
    path: str
    operation: str
    cost: Cost


class OpCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """With `on_shapes` nothing is computed: operations give tensors that have only a form."""

    supports_higher_order_operators = True  # torch.cond, flex_attention: one operation each

    def __init__(self, scopes: ModuleScopes, on_shapes: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: dict[CountedOperation, int] = {}
        self.places: dict[str, dict[Place, None]] = {}  # of operations that could not be counted
        self.added = 0
        self.in_backward = False
        self._scopes = scopes
        self._on_shapes = on_shapes

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in here, and importing torch._dynamo takes two seconds

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(kind is not ShapeTensor and has_own_ways(kind) for kind in types):
            return NotImplemented  # a class of tensors with ways of its own: what it does inside comes here again
        kwargs = kwargs or {}
        if self._on_shapes:
            made, cost = run_on_shapes(func, args, kwargs)
        else:
            made = func(*args, **kwargs)
            cost = cost_of(func, args, kwargs, made)
        if cost is not FREE:
            self.add(operation_name(func), cost)
        return made

    def add(self, operation: str, cost: Cost) -> None:
        if not self.in_backward:
            phase, path = FORWARD, self._scopes.path
        else:
            # A backward runs without gradients of its own; a forward inside of it, for a checkpoint, with them.
            phase = RECOMPUTED if torch.is_grad_enabled() else BACKWARD
            path = self._scopes.owner_in_backward()
        entry = CountedOperation(phase, path, operation, cost)
        self.calls[entry] = self.calls.get(entry, 0) + 1
        self.added += 1
        if not cost.counted:
            self.places.setdefault(entry.operation, {})[place_of(_calling_frame(), path)] = None


def _calling_frame() -> FrameType | None:
    """The user's own line inside of the model: beyond the run lies only the line that asked for a count."""
    inside = False
    for frame in frames(skip=2):
        inside = inside or not is_ours(frame)
        if inside and is_ours(frame):
            return None
        if is_user_file(frame.f_code.co_filename):
            return frame
    return None


# Whose operation is it: the path of the module whose forward runs, and in backward, ran.
_next_node = torch._C._autograd._get_sequence_nr
_current_node = torch._C._current_autograd_node


class ModuleScopes:
    """Follows the calls of a model's modules, with hooks that do not hang on any of them.

    Hooks on the modules themselves would make torch leave its fused paths. A shared module counts under the
    path of the caller's part of the model; called again there, under its next path.
    """

    def __init__(self, model: nn.Module) -> None:
        self.in_order = [
            (clean_path(path), module)
            for path, module in every_path(model)
            if "_orig_mod" not in module._modules  # what torch.compile wraps comes under the same path
        ]
        self.paths: dict[nn.Module, list[str]] = {}
        for path, module in self.in_order:
            self.paths.setdefault(module, []).append(path)
        self.calls: Counter[str] = Counter()
        self.path = ""
        self._open: list[tuple[nn.Module, str]] = []
        self._turns: Counter[tuple[nn.Module, str]] = Counter()
        # Autograd numbers its nodes: from this number on, they belong to that path.
        self._numbers: list[int] = [0]
        self._owners: list[str] = [""]

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        leaving = register_module_forward_hook(self._leave, always_call=True)
        with register_module_forward_pre_hook(self._enter), leaving:
            yield

    def owner_in_backward(self) -> str:
        """Of the node that autograd runs; inside of a forward that runs again, the module under way."""
        if self._open:
            return self.path
        node = _current_node()
        return self._owners[bisect_right(self._numbers, node._sequence_nr()) - 1] if node is not None else ""

    def close(self) -> None:
        """Between forward and backward: no module is under way."""
        self._open.clear()
        self._note("")

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        paths = self.paths.get(module)
        if paths is None:
            return  # made inside of a forward: it counts for the module that made it
        path = paths[0] if len(paths) == 1 else self._chosen(module, paths)
        self.calls[path] += 1
        self._open.append((module, self.path))
        self._note(path)

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if module not in self.paths:
            return
        while self._open:
            opened, before = self._open.pop()
            if opened is module:
                self._note(before)
                return

    def _chosen(self, module: nn.Module, paths: list[str]) -> str:
        here = [path for path in paths if path.startswith(f"{self.path}." if self.path else "")] or paths
        turn = self._turns[module, self.path]
        self._turns[module, self.path] += 1
        return here[turn % len(here)]

    def _note(self, path: str) -> None:
        self.path = path
        number = _next_node()
        if self._numbers[-1] == number:
            self._owners[-1] = path
        else:
            self._numbers.append(number)
            self._owners.append(path)


# The operations of a run, counted; and on shapes alone, which tensors would share memory.
class ShapeMeter(OpCounter):  # type: ignore[no-untyped-call]
    """`macs` are those of all operations so far."""

    macs = 0

    def add(self, operation: str, cost: Cost) -> None:
        super().add(operation, cost)
        self.macs += cost.macs

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = super().__torch_dispatch__(func, types, args, kwargs)
        if args and isinstance(args[0], ShapeTensor) and is_view(func):
            for view in tensors_in(made):
                if view is not args[0]:
                    view.viewed = getattr(args[0], "viewed", args[0])  # type: ignore[attr-defined]
        return made


def memory_behind(tensor: torch.Tensor) -> tuple[Any, int]:
    """An object that lives as long as the tensor's memory and is the same for all views; and its bytes."""
    if isinstance(tensor, ShapeTensor):
        whole = getattr(tensor, "viewed", tensor)
        return whole, whole.numel() * whole.element_size()
    memory = memory_of(tensor)
    return (tensor, tensor.numel() * tensor.element_size()) if memory is None else (memory, memory.nbytes())
