"""Every operation of a run, with its cost, added up by phase, module and operation."""

from __future__ import annotations

from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.anatomy.counting.module_scopes import ModuleScopes
from torch_debugger.anatomy.counting.operations import FREE, Cost, cost_of, operation_name
from torch_debugger.anatomy.counting.shape_runs import run_on_shapes
from torch_debugger.anatomy.counting.shape_tensors import ShapeTensor, has_own_ways
from torch_debugger.anatomy.frames import frames, is_ours, place_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.records import Place

FORWARD, BACKWARD, RECOMPUTED = "forward", "backward", "recomputed"


class Entry(NamedTuple):
    phase: str
    path: str
    operation: str
    cost: Cost


class OpCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """With `on_shapes` nothing is computed: operations give tensors that have only a form."""

    supports_higher_order_operators = True  # torch.cond, flex_attention: one operation each

    def __init__(self, scopes: ModuleScopes, on_shapes: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: dict[Entry, int] = {}
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
            return (
                NotImplemented  # a class of tensors with ways of its own: what it does inside comes here again
            )
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
        entry = Entry(phase, path, operation, cost)
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
