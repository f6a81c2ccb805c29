"""Under which of the user's names a tensor is held: a variable, a list of them, an attribute of an object."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_one_of, own_attributes
from torch_debugger.anatomy.naming import scopes
from torch_debugger.anatomy.sources import class_source

_DEEPEST = 4
_MOST = 200_000  # objects that are looked at
_ROWS = (list, tuple, set, deque)


def holders(frame: FrameType | None) -> dict[int, str]:
    """id of a tensor -> losses, cache['keys'], trainer.history. What a list holds has the name of the list."""
    found: dict[int, str] = {}
    met: set[int] = set()
    for names in scopes(frame):
        for name, value in names:
            for each, holder in itertools.islice(_tensors(name, value, 0, met), _MOST):
                found.setdefault(id(each), holder)
    return found


def _tensors(name: str, value: Any, depth: int, met: set[int]) -> Iterator[tuple[Any, str]]:
    """Modules are left to those who know their parameters; their plain attributes are looked at."""
    if issubclass(type(value), torch.Tensor):
        yield value, name
        return
    if depth > _DEEPEST or id(value) in met or len(met) > _MOST:
        return
    inside = list(_inside(name, value))
    if inside:
        met.add(id(value))
    for holder, each in inside:
        yield from _tensors(holder, each, depth + 1, met)


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if is_one_of(value, _ROWS):
        yield from ((name, each) for each in list(value))
    elif type(value) is dict:
        yield from (
            (f"{name}[{key!r}]" if is_one_of(key, (str, int)) else name, value[key]) for key in list(value)
        )
    elif issubclass(type(value), nn.Module) or class_source(type(value)) is not None:
        held = list(own_attributes(value).items())
        yield from ((f"{name}.{key}", each) for key, each in held if key not in ("_parameters", "_buffers"))
