"""Where a tensor comes from: known by the autograd node that made it, by itself, or by the memory it shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import MutableMapping
from typing import Any, NamedTuple

import torch
from torch.utils.weak import TensorWeakRef, WeakTensorKeyDictionary

from torch_debugger.anatomy.memory_ids import memory_id


class Origin(NamedTuple):
    node: int  # place in the list of nodes
    output: int


class Origins:
    """Holds no tensor. It holds nodes of the autograd graph, so it must not outlive the forward."""

    def __init__(self) -> None:
        self._by_output: dict[tuple[Any, int], Origin] = {}
        self._by_node: dict[Any, int] = {}
        self._by_tensor: MutableMapping[torch.Tensor, Origin] = WeakTensorKeyDictionary()
        self._by_memory: defaultdict[int, list[tuple[TensorWeakRef, Origin]]] = defaultdict(list)

    def put(self, tensor: torch.Tensor, origin: Origin) -> None:
        """The latest counts: a layer that gives back what it was given is passed through too."""
        if tensor.grad_fn is not None:
            self._by_output[tensor.grad_fn, tensor.output_nr] = origin
        self._by_tensor[tensor] = origin
        self._by_memory[memory_id(tensor)].append((TensorWeakRef(tensor), origin))

    def put_operation(self, node: Any, place: int) -> None:
        self._by_node[node] = place

    def knows(self, node: Any, output: int) -> bool:
        return (node, output) in self._by_output or node in self._by_node

    def of_node(self, node: Any, output: int) -> Origin | None:
        found = self._by_output.get((node, output))
        if found is None and node in self._by_node:
            found = Origin(self._by_node[node], output)
        return found

    def of_leaf(self, tensor: torch.Tensor) -> Origin | None:
        """A tensor that no recorded operation made: an input, a view of one, something detached."""
        if tensor in self._by_tensor:
            return self._by_tensor[tensor]
        memory = memory_id(tensor)
        for reference, origin in reversed(self._by_memory.get(memory, ())):
            other = reference()
            if other is not None and memory_id(other) == memory:  # memory of a dead tensor is given to others
                return origin
        return None
