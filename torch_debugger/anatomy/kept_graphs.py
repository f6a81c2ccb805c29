"""Variables of the user's that hold tensors with an autograd graph: lists of losses, sums over steps."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.naming import own_attributes, scopes
from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.anatomy.sources import class_source

_ITEMS = 64  # entries of a dictionary that are looked into
_LONGEST = 512  # additions counted in the graph of a sum


@dataclass(frozen=True)
class Hoard:
    name: str
    count: int
    oldest: torch.Tensor


def hoards(frame: FrameType | None) -> Iterator[Hoard]:
    """Containers among the user's variables whose first and last entries both hold a graph."""
    for name, value in _variables(frame):
        if type(value) in (list, deque) and len(value) > 1:
            oldest, newest = first_tensor(value[0]), first_tensor(value[-1])
            if oldest is not None and _has_graph(oldest) and _has_graph(newest):
                yield Hoard(name, len(value), oldest)


def sums(frame: FrameType | None, loss: torch.Tensor) -> Iterator[Hoard]:
    """Scalars made by adding and adding; the loss at hand may be a sum of its own parts."""
    for name, value in _variables(frame):
        if isinstance(value, torch.Tensor) and value is not loss and value.numel() == 1 and _has_graph(value):
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


def _variables(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """The names in reach, the attributes of plain objects, the entries of dictionaries; each object once."""
    told: set[int] = set()
    for names in scopes(frame):
        for name, value in names:
            if id(value) in told:
                continue
            told.add(id(value))
            yield name, value
            for key, item in _inside(name, value):
                if id(item) not in told:
                    told.add(id(item))
                    yield key, item


def _inside(name: str, value: Any, depth: int = 3) -> Iterator[tuple[str, Any]]:
    """trainer.meters['loss'].total: entries, and the attributes of objects of the user's own kinds."""
    for key, item in _parts(name, value):
        yield key, item
        if depth > 1 and (type(item) is dict or (own_attributes(item) and class_source(type(item)))):
            yield from _inside(key, item, depth - 1)


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    if type(value) is dict:
        return [(f"{name}[{key!r}]", item) for key, item in itertools.islice(list(value.items()), _ITEMS)]
    if isinstance(value, torch.Tensor):
        return []
    plain = [(key, item) for key, item in own_attributes(value).items() if not key.startswith("_")]
    return [(f"{name}.{key}", item) for key, item in plain[:_ITEMS]]
