"""The tensors inside whatever a forward takes or gives: tuples, dictionaries, dataclasses, in each other."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator
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


def named_leaves(
    value: Any, kinds: type | tuple[type, ...] = torch.Tensor, name: str = "", depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """The same with the way to each: "[0]", "[1][0]", "['logits']"; empty for a tensor that stands alone."""
    if isinstance(value, kinds):
        yield name, value
    elif depth < _DEEPEST:
        for key, item in zip(_keys(value), _items(value), strict=True):
            yield from named_leaves(item, kinds, f"{name}[{key!r}]", depth + 1)


def copied(value: Any) -> Any:
    """What a forward is given, so that it may write into it without reaching the user's own tensors."""
    return exchanged(value, lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad))


def exchanged(value: Any, change: Callable[[Any], Any], kinds: type | tuple[type, ...] = torch.Tensor) -> Any:
    """The same tuples, dictionaries and dataclasses with something else in the tensors' place."""
    if isinstance(value, kinds):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)([exchanged(item, change, kinds) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(exchanged(item, change, kinds) for item in value))
    if isinstance(value, dict):
        twin = copy.copy(value)
        twin.update({key: exchanged(item, change, kinds) for key, item in value.items()})
        return twin
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _with_fields(value, change, kinds)
    return value


def _with_fields(value: Any, change: Callable[[Any], Any], kinds: type | tuple[type, ...]) -> Any:
    twin = copy.copy(value)
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            changed = exchanged(getattr(value, field.name), change, kinds)
            object.__setattr__(twin, field.name, changed)  # also where it is frozen
    return twin


def _keys(value: Any) -> Iterable[Any]:
    if isinstance(value, (tuple, list)):
        return range(len(value))
    if isinstance(value, dict):
        return value.keys()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    return ()


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, (tuple, list)):
        return value
    if isinstance(value, dict):
        return value.values()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = (getattr(value, field.name, None) for field in dataclasses.fields(value))
        return list(held)
    return ()
