"""The tensors inside whatever a forward takes or gives: tuples, dictionaries, dataclasses, in each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import torch

_DEEPEST = 4


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """In order; none of the user's code runs for it."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < _DEEPEST:
        for item in _items(value):
            yield from tensors_in(item, depth + 1)


def first_tensor(value: Any) -> torch.Tensor | None:
    return next(tensors_in(value), None)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, (tuple, list)):
        return value
    if isinstance(value, dict):
        return value.values()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = (getattr(value, field.name, None) for field in dataclasses.fields(value))
        return list(held)
    return ()
