"""What a forward writes into memory that was there before it, put back: a clamped weight, a global cache."""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.anatomy.memory_ids import memory_id, memory_of
from torch_debugger.anatomy.nested import tensors_in


class Undoing:
    """Told of every operation below the level of functions, where each says what it writes into."""

    def __init__(self) -> None:
        self._born: set[int] = set()  # memory that the forward made itself
        self._kept: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self._replaced: list[tuple[torch.Tensor, torch.Tensor]] = []

    def before_write(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        schema = getattr(func, "_schema", None)
        if schema is None or not schema.is_mutable:
            return
        for place, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value = args[place] if place < len(args) else kwargs.get(argument.name)
                for tensor in tensors_in(value):
                    self._keep(tensor)

    def before_replacing(self, tensor: torch.Tensor) -> None:
        """weight.data = ..."""
        self._replaced.append((tensor, tensor.data))

    def after(self, given: Any, result: Any) -> None:
        old = {memory_id(tensor) for tensor in tensors_in(given)}
        made = {memory_id(tensor) for tensor in tensors_in(result)}
        self._born |= made - old

    def undo(self) -> None:
        for tensor, data in reversed(self._replaced):
            tensor.data = data
        for memory, copy in self._kept.values():
            memory.copy_(copy)

    def _keep(self, tensor: torch.Tensor) -> None:
        memory = memory_of(tensor)
        if memory is not None and memory._cdata not in self._born and memory._cdata not in self._kept:
            self._kept[memory._cdata] = (memory, memory.clone())  # type: ignore[no-untyped-call]
