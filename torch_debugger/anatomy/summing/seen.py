"""What a layer took or gave, in words: sizes and kinds of tensors, no tensors."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

from torch_debugger.anatomy.nested import named_leaves


class Seen(NamedTuple):
    """One tensor; the name is its key in a dictionary or a dataclass, empty by position."""

    name: str
    size: tuple[int, ...]
    dtype: str


def seen_in(value: Any) -> tuple[Seen, ...]:
    return tuple(
        Seen(_name(way), tuple(int(length) for length in tensor.shape), dtype_name(tensor.dtype))
        for way, tensor in named_leaves(value)
    )


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def sizes_text(seen: tuple[Seen, ...]) -> tuple[str, ...]:
    """The whole first, then ever shorter: boxes: [2, 4], scores: [2]; [2, 4] and 1 more."""
    if not seen:
        return ("--",)
    parts = [_repeated(list(group)) for _, group in groupby(seen, key=lambda one: (one.name, one.size))]
    first = str(list(seen[0].size))
    more = len(seen) - 1
    return (", ".join(parts), f"{first} and {more} more", f"{first} +{more}") if more else (parts[0], first)


def _repeated(same: list[Seen]) -> str:
    text = f"{same[0].name}: {list(same[0].size)}" if same[0].name else str(list(same[0].size))
    return f"{len(same)} x {text}" if len(same) > 1 else text


def _name(way: str) -> str:
    """ "[0]['boxes'][1]" -> boxes.1; a mere position has no name."""
    parts = [part.strip("'\"") for part in way.removeprefix("[").removesuffix("]").split("][") if part]
    while parts and parts[0].isdigit():
        parts = parts[1:]
    return ".".join(parts)
