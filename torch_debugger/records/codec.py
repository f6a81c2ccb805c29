"""Records to plain JSON values and back, by their type hints; unknown fields are left out,
so that a newer log still reads."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any

from torch_debugger import records as _records
from torch_debugger.records import Record


def to_plain(record: Record) -> dict[str, Any]:
    """A dictionary of JSON values. Not for Scalars and TensorRows, which have forms of their own."""
    return dataclasses.asdict(record)


def from_plain(kind: str, plain: dict[str, Any]) -> Record | None:
    """The record of class `kind`, or None for a class this version does not know."""
    record_class = getattr(_records, kind, None)
    if not dataclasses.is_dataclass(record_class):
        return None
    return typing.cast(Record, _build(record_class, plain))


@functools.cache
def _hints(record_class: Any) -> dict[str, Any]:
    return typing.get_type_hints(record_class)


def _build(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if dataclasses.is_dataclass(hint):
        hints = _hints(typing.cast(Any, hint))
        known = {name: _build(hints[name], value[name]) for name in hints if name in value}
        return typing.cast(Any, hint)(**known)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _build(_first_structured(typing.get_args(hint)), value)
    if origin is tuple:
        return tuple(_build(typing.get_args(hint)[0], item) for item in value)
    return value


def _first_structured(options: tuple[Any, ...]) -> Any:
    for option in options:
        if dataclasses.is_dataclass(option) or typing.get_origin(option) is tuple:
            return option
    return object
