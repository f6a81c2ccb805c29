"""Tensors that objects of the user's classes keep since they were made: a trainer's weights, a loss's scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.sources import class_source
from torch_debugger.trials.origin import FrameLine, set_in_constructors

_DEEPEST = 4
_MOST_ITEMS = 16


def kept_on_the_cpu(moments: Sequence[Moment]) -> dict[int, FrameLine]:
    """Those that no line of the user's moves, with the line of the `__init__` that makes each."""
    seen: dict[int, Any] = {}
    for moment in moments:
        for value in moment.variables.values():
            _walk(value, seen, 0)
    return set_in_constructors(seen.values())


def _walk(value: Any, seen: dict[int, Any], depth: int) -> None:
    """The objects of the user's classes in there: none of the user's code runs for it."""
    if depth > _DEEPEST or id(value) in seen or is_a(value, (torch.Tensor, type)):
        return
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is dict and class_source(type(value)) is not None:
        seen[id(value)] = value
    for each in _held(value, attributes):
        _walk(each, seen, depth + 1)


def _held(value: Any, attributes: Any) -> Iterator[Any]:
    if is_one_of(value, (list, tuple, dict)):
        yield from [*(value.values() if type(value) is dict else value)][:_MOST_ITEMS]
    elif type(attributes) is dict and class_source(type(value)) is not None:
        yield from [*attributes.values()]
