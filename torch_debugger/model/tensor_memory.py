"""Which tensors are views of the same memory."""

from __future__ import annotations

import functools
import heapq
import itertools
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.model.nested_tensors import first_tensor, tensors_in
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.variables import DICTIONARIES, variables_in_reach


def memory_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """None where a tensor has no single one: sparse, or a wrapper around others."""
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return None


def memory_id(tensor: torch.Tensor) -> int:
    """The same for all views, as long as one of them lives; a tensor without memory stands alone."""
    memory = memory_of(tensor)
    return id(tensor) if memory is None else memory._cdata


def storages_of(tensor: torch.Tensor) -> list[torch.UntypedStorage]:
    """All of them: a sparse tensor has several; none where a kind of tensor does not tell."""
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices().untyped_storage(), tensor._values().untyped_storage()]
    memory = memory_of(tensor) if tensor.layout is torch.strided else None
    return [] if memory is None else [memory]


# Bytes of tensors by what they are for: every storage counts once, for whoever claims it first.
_ROUNDED = 512  # torch's allocator of GPU memory hands it out in these steps


class MemoryTally:
    """Keeps numbers of storages and no tensor; it is of no use after the moment it was made for."""

    def __init__(self) -> None:
        self.by_device: dict[torch.device, Counter[str]] = {}
        self._known: set[int] = set()

    def numbers_of(self, tensor: torch.Tensor) -> set[int]:
        """By which its memory is known again while it lives."""
        return {storage._cdata for storage in storages_of(tensor)}

    def add(self, tensor: torch.Tensor, category: str) -> int:
        """The bytes that were not counted before."""
        size = self.claim(tensor)
        if size:
            self.by_device.setdefault(tensor.device, Counter())[category] += size
        return size

    def add_all(self, tensors: Iterable[torch.Tensor], category: str) -> int:
        return sum([self.add(tensor, category) for tensor in tensors])

    def claim(self, tensor: torch.Tensor) -> int:
        """The same, for somebody who says later what they are for."""
        size = 0
        for storage in storages_of(tensor):
            key = storage._cdata
            if key not in self._known:
                self._known.add(key)
                size += _in_memory(storage.nbytes(), tensor.device.type)
        return size

    def put(self, device: torch.device, category: str, size: int) -> None:
        if size:
            self.by_device.setdefault(device, Counter())[category] += size


def _in_memory(size: int, device: str) -> int:
    if device == "meta":
        return 0
    return size if device == "cpu" else -(-size // _ROUNDED) * _ROUNDED


# Tensors that the user's variables hold, alone or many in one container: of many a few are looked at.
_SAMPLED = 8  # entries of a container
_TENSORS = 32  # in one entry
_SEQUENCES = (list, tuple, deque)
_CONTAINERS = (list, deque, *DICTIONARIES)
_HOLDING = (*_SEQUENCES, *DICTIONARIES)


@dataclass(frozen=True)
class Pile:
    name: str
    count: int  # entries; 1 for a tensor by itself
    sample: tuple[torch.Tensor, ...]
    sampled: int  # entries that those are from
    grows: bool = False  # nothing keeps it from getting longer


def piles(frame: FrameType | None) -> Iterator[Pile]:
    """Variables with tensors, each once; what is in a container is not told again by itself."""
    prefixes: tuple[str, ...] = ()
    for name, value in variables_in_reach(frame):
        if (type(value) is not torch.Tensor and not is_one_of(value, _HOLDING)) or name.startswith(prefixes):
            continue
        if type(value) is torch.Tensor:
            yield Pile(name, 1, (value,), 1)
        elif value:
            entries = _sample(value)
            if is_one_of(value, DICTIONARIES) and any(is_one_of(entry, _CONTAINERS) for entry in entries):
                continue  # a log of several lists: each is told by itself
            tensors = tuple(tensor for entry in entries for tensor in _tensors(entry))
            if tensors:
                prefixes += (f"{name}[",)
                grows = type(value) is not tuple and getattr(value, "maxlen", None) is None
                yield Pile(name, len(value), tensors, len(entries), grows)


def _sample(value: Any) -> list[Any]:
    """The first, the last, and some between them at even distances."""
    if len(value) <= _SAMPLED:
        return list(value.values() if is_one_of(value, DICTIONARIES) else value)
    if is_one_of(value, DICTIONARIES):
        values = value.values()
        return [*itertools.islice(values, _SAMPLED // 2), *itertools.islice(reversed(values), _SAMPLED // 2)]
    last = len(value) - 1
    return [value[place * last // (_SAMPLED - 1)] for place in range(_SAMPLED)]


def _tensors(entry: Any) -> list[torch.Tensor]:
    if is_a(entry, torch.Tensor):
        return [entry]
    if not is_one_of(entry, _HOLDING):
        return []
    return list(itertools.islice(tensors_in(list(entry) if type(entry) is deque else entry), _TENSORS))


# Variables of the user's that hold tensors with a graph: lists of losses, sums over steps, chains.
_LONGEST = 512  # additions counted in the graph of a sum
_CHAIN = 1500  # nodes that are walked to find where a chain began, at about 2 us each

Variables = Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class GraphContainer:
    name: str
    count: int
    oldest: torch.Tensor


def graph_containers(variables: Variables) -> Iterator[GraphContainer]:
    """Containers whose first and last entries both hold a graph."""
    for name, value in variables:
        if is_one_of(value, (list, deque, *DICTIONARIES)) and value:
            values = value if is_one_of(value, (list, deque)) else value.values()
            oldest, newest = first_tensor(next(iter(values))), first_tensor(next(reversed(values)))
            if oldest is not None and _has_graph(oldest) and _has_graph(newest):
                yield GraphContainer(name, len(value), oldest)


def sums(variables: Variables, loss: torch.Tensor) -> Iterator[GraphContainer]:
    """Scalars made by adding and adding; the loss at hand may be a sum of its own parts."""
    for name, value in variables:
        if is_a(value, torch.Tensor) and value is not loss and value.numel() == 1 and _has_graph(value):
            count, node = 0, value.grad_fn
            while node is not None and node.name().startswith("AddBackward") and count < _LONGEST:
                count += 1
                operands = [operand for operand, _ in node.next_functions if operand is not None]
                node = next((operand for operand in operands if operand.name().startswith("AddBackward")), None)
            if count > 1:
                yield GraphContainer(name, count, value)


def _has_graph(value: torch.Tensor | None) -> bool:
    return value is not None and value.grad_fn is not None


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


# What autograd keeps for a backward pass that has not come, read from the nodes of its graph.
#
# Never where saved-tensor hooks are in use: to read what such a hook has packed would run the user's code.
_RAW = "_raw_saved_"  # autograd has one for each tensor it saves, and none for numbers
_VIEWS = frozenset({"TBackward0", "TransposeBackward0", "ViewBackward0", "PermuteBackward0"})
_HALVES = (torch.float16, torch.bfloat16)


def nodes_from(roots: Iterable[Any], seen: set[Any], limit: int) -> Iterator[Any]:
    """Every node behind these that is not in `seen` yet, which grows up to the limit."""
    waiting = [node for node in roots if node is not None and node not in seen]
    seen.update(waiting)
    while waiting:
        node = waiting.pop()
        yield node
        if len(seen) < limit:
            following = [other for other, _ in node.next_functions if other is not None and other not in seen]
            seen.update(following)
            waiting += following


def saved_by(node: Any) -> Iterator[torch.Tensor]:
    """The tensors that a node keeps; none once backward has run through it."""
    kind: type = type(node)
    for name in _names_of(kind):
        try:
            value = getattr(node, name)
        except (RuntimeError, ValueError):  # let go of by backward, or overwritten since
            continue
        if is_a(value, torch.Tensor):
            yield value
        elif is_a(value, (tuple, list)):
            yield from (each for each in value if is_a(each, torch.Tensor))
    if isinstance(node, torch.autograd.function.BackwardCFunction):  # what the user's own function put aside
        yield from (each for each in vars(node).values() if is_a(each, torch.Tensor))


@functools.cache
def _names_of(kind: type) -> tuple[str, ...]:
    if issubclass(kind, torch.autograd.function.BackwardCFunction):
        return ("saved_tensors",)
    return tuple("_saved_" + name[len(_RAW) :] for name in dir(kind) if name.startswith(_RAW))


def is_copy_of_weight(tensor: torch.Tensor) -> bool:
    """A parameter in half precision, which autocast made for this step."""
    node = tensor.grad_fn if tensor.dtype in _HALVES else None
    while node is not None and node.name() in _VIEWS:
        node = node.next_functions[0][0]
    if node is None or node.name() != "ToCopyBackward0":
        return False
    origin = node.next_functions[0][0]
    return origin is not None and hasattr(origin, "variable")
