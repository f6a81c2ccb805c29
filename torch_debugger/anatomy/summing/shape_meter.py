"""The operations of a run, counted; and on shapes alone, which tensors would share memory."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torch_debugger.anatomy.counting.op_counter import OpCounter
from torch_debugger.anatomy.counting.operations import Cost
from torch_debugger.anatomy.counting.shape_tensors import ShapeTensor
from torch_debugger.anatomy.memory_ids import memory_of
from torch_debugger.anatomy.nested import tensors_in


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
        if args and isinstance(args[0], ShapeTensor) and _makes_views(func):
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


@functools.cache
def _makes_views(func: Any) -> bool:
    kinds = [each.alias_info for each in func._schema.returns]
    return any(kind is not None and not kind.is_write for kind in kinds)
