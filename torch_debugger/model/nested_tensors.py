"""The tensors inside whatever a forward takes or gives: tuples, dictionaries, dataclasses, in each other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import torch

from torch_debugger.source.objects import fields_of, is_a, is_dataclass, is_one_of, own_attributes

_DEEPEST = 4


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """In order; none of the user's code runs for it."""
    if is_a(value, torch.Tensor):
        yield value
    elif depth < _DEEPEST:
        for item in _items(value):
            yield from tensors_in(item, depth + 1)


def first_tensor(value: Any) -> torch.Tensor | None:
    return next(tensors_in(value), None)


def opened(value: Any) -> Any:
    """An object of the user's own class by its attributes: Batch(x, edges)"""
    return value if first_tensor(value) is not None else own_attributes(value)


def named_leaves(
    value: Any, kinds: type | tuple[type, ...] = torch.Tensor, name: str = "", depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """The same with the way to each: "[0]", "[1][0]", "['logits']"; empty for a tensor that stands alone."""
    if issubclass(type(value), kinds):
        yield name, value
    elif depth < _DEEPEST:
        for key, item in zip(_keys(value), _items(value), strict=True):
            yield from named_leaves(item, kinds, f"{name}[{key!r}]", depth + 1)


def copied(value: Any) -> Any:
    """What a forward is given, so that it may write into it without reaching the user's own tensors."""
    return exchanged(value, lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad))


def exchanged(value: Any, change: Callable[[Any], Any], kinds: type | tuple[type, ...] = torch.Tensor) -> Any:
    """The same tuples, dictionaries and dataclasses with something else in the tensors' place."""
    if issubclass(type(value), kinds):
        return change(value)
    if is_one_of(value, (list, tuple)):
        return type(value)([exchanged(item, change, kinds) for item in value])
    if is_a(value, tuple) and "_fields" in vars(type(value)):
        return type(value)(*(exchanged(item, change, kinds) for item in tuple.__iter__(value)))
    if is_a(value, dict):
        result = copy.copy(value)
        result.update({key: exchanged(item, change, kinds) for key, item in dict.items(value)})
        return result
    if is_dataclass(value):
        result = copy.copy(value)
        for name, item in fields_of(value).items():
            object.__setattr__(result, name, exchanged(item, change, kinds))  # also where it is frozen
        return result
    return value


def _keys(value: Any) -> Iterable[Any]:
    """Of what is in `_items`. A class of the user's own may run their code for its items; its base does not."""
    if is_a(value, tuple) or is_a(value, list):
        return range(len(_items(value)))
    if is_a(value, dict):
        return dict.keys(value)
    return fields_of(value) if is_dataclass(value) else ()


def _items(value: Any) -> Sequence[Any]:
    if is_a(value, tuple):
        return list(tuple.__iter__(value))
    if is_a(value, list):
        return list(list.__iter__(value))
    if is_a(value, dict):
        return list(dict.values(value))
    return list(fields_of(value).values()) if is_dataclass(value) else ()


# What a layer took or gave, in words: sizes and kinds of tensors, no tensors.
class NamedSize(NamedTuple):
    """One tensor; the name is its key in a dictionary or a dataclass, empty by position."""

    name: str
    size: tuple[int, ...]
    dtype: str


def seen_in(value: Any) -> tuple[NamedSize, ...]:
    return tuple(
        NamedSize(_name(way), tuple(int(length) for length in tensor.shape), dtype_name(tensor.dtype))
        for way, tensor in named_leaves(value)
    )


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def sizes_text(seen: tuple[NamedSize, ...]) -> tuple[str, ...]:
    """The whole first, then ever shorter: boxes: [2, 4], scores: [2]; [2, 4] and 1 more."""
    if not seen:
        return ("--",)
    parts = [_repeated(list(group)) for _, group in groupby(seen, key=lambda one: (one.name, one.size))]
    first = str(list(seen[0].size))
    more = len(seen) - 1
    return (", ".join(parts), f"{first} and {more} more", f"{first} +{more}") if more else (parts[0], first)


def _repeated(same: list[NamedSize]) -> str:
    text = f"{same[0].name}: {list(same[0].size)}" if same[0].name else str(list(same[0].size))
    return f"{len(same)} x {text}" if len(same) > 1 else text


def _name(way: str) -> str:
    """ "[0]['boxes'][1]" -> boxes.1; a mere position has no name."""
    parts = [part.strip("'\"") for part in way.removeprefix("[").removesuffix("]").split("][") if part]
    while parts and parts[0].isdigit():
        parts = parts[1:]
    return ".".join(parts)
