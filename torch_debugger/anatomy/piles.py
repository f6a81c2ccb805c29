"""Tensors that the user's variables hold, alone or many in one container: of many a few are looked at."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.user_variables import DICTIONARIES, variables_in_reach

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
    told: tuple[str, ...] = ()
    for name, value in variables_in_reach(frame):
        if (type(value) is not torch.Tensor and not is_one_of(value, _HOLDING)) or name.startswith(told):
            continue
        if type(value) is torch.Tensor:
            yield Pile(name, 1, (value,), 1)
        elif value:
            entries = _sample(value)
            if is_one_of(value, DICTIONARIES) and any(is_one_of(entry, _CONTAINERS) for entry in entries):
                continue  # a log of several lists: each is told by itself
            tensors = tuple(tensor for entry in entries for tensor in _tensors(entry))
            if tensors:
                told += (f"{name}[",)
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
