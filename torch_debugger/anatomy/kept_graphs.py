"""Variables of the user's that hold tensors with a graph: lists of losses, sums over steps, chains."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.anatomy.user_variables import DICTIONARIES

_LONGEST = 512  # additions counted in the graph of a sum
_CHAIN = 1500  # nodes that are walked to find where a chain began, at about 2 us each

Variables = Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Hoard:
    name: str
    count: int
    oldest: torch.Tensor


def hoards(variables: Variables) -> Iterator[Hoard]:
    """Containers whose first and last entries both hold a graph."""
    for name, value in variables:
        if is_one_of(value, (list, deque, *DICTIONARIES)) and value:
            oldest, newest = (first_tensor(entry) for entry in _ends(value))
            if oldest is not None and _has_graph(oldest) and _has_graph(newest):
                yield Hoard(name, len(value), oldest)


def _ends(value: Any) -> tuple[Any, Any]:
    if is_one_of(value, (list, deque)):
        return value[0], value[-1]
    return next(iter(value.values())), next(reversed(value.values()))


def sums(variables: Variables, loss: torch.Tensor) -> Iterator[Hoard]:
    """Scalars made by adding and adding; the loss at hand may be a sum of its own parts."""
    for name, value in variables:
        if is_a(value, torch.Tensor) and value is not loss and value.numel() == 1 and _has_graph(value):
            count = _additions(value.grad_fn)
            if count > 1:
                yield Hoard(name, count, value)


def _has_graph(value: torch.Tensor | None) -> bool:
    return value is not None and value.grad_fn is not None


def _additions(node: Any) -> int:
    count = 0
    while node is not None and node.name().startswith("AddBackward") and count < _LONGEST:
        count += 1
        operands = [operand for operand, _ in node.next_functions if operand is not None]
        node = next((operand for operand in operands if operand.name().startswith("AddBackward")), None)
    return count


def steps_behind(tensor: torch.Tensor, starts: Sequence[int]) -> int:
    """How many steps the graph of a tensor reaches back; `starts` are the numbers their nodes begin with.

    The oldest nodes are followed first: of each step in between, only what leads to the one before is seen.
    """
    root = tensor.grad_fn
    if root is None:
        return 0
    newest = oldest = root._sequence_nr()
    met = {bisect_right(starts, newest)}
    waiting, seen = [(oldest, 0, root)], {root}
    while waiting and len(seen) < _CHAIN:
        number, _, node = heapq.heappop(waiting)
        oldest = min(oldest, number)
        met.add(bisect_right(starts, number))
        for other, _ in node.next_functions:
            if other is not None and other not in seen and not hasattr(other, "variable"):
                seen.add(other)
                heapq.heappush(waiting, (other._sequence_nr(), len(seen), other))
    steps = bisect_right(starts, newest) - bisect_right(starts, oldest) + 1
    # Nodes made by another thread (DataParallel) have numbers of their own: a chain has no step left out.
    return steps if len(met) == steps else 1
