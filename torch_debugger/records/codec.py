"""Records to plain JSON values and back, by their type hints; unknown fields are left out,
so that a newer log still reads."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any

from torch_debugger import records as _records
from torch_debugger.records import Record, Scalars, Summary, TensorRows

_WITH_FORMS_OF_THEIR_OWN = (Scalars, TensorRows, Summary)
# A script may say 1 for True, and whole numbers for others.
_PLAIN_KINDS = {str: str, bool: int, int: int, float: (int, float)}


def to_plain(record: Record) -> dict[str, Any]:
    """A dictionary of JSON values. Not for Scalars and TensorRows, which have forms of their own."""
    return dataclasses.asdict(record)


def from_plain(kind: str, plain: Any) -> Record | None:
    """The record of class `kind`, or None for a class this version does not know. Raises TypeError where a
    value is not of the kind that its field holds: any file may hold an event with our tag."""
    record_class: Any = getattr(_records, kind, None)
    known = isinstance(record_class, type) and dataclasses.is_dataclass(record_class)
    if not known or issubclass(record_class, _WITH_FORMS_OF_THEIR_OWN):
        return None
    return typing.cast(Record, _build(record_class, plain))


@functools.cache
def _hints(record_class: Any) -> dict[str, Any]:
    return typing.get_type_hints(record_class)


def _build(hint: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build_record(hint, _expect(dict, value))
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _build_one_of(inner, value)
    if origin is tuple:
        return tuple(_build(inner[0], item) for item in _expect((list, tuple), value))
    if origin is dict:
        return {name: _build(inner[1], item) for name, item in _expect(dict, value).items()}
    if hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    return _expect(_PLAIN_KINDS[hint], value)


def _build_record(record_class: Any, values: dict[str, Any]) -> Any:
    hints = _hints(record_class)
    return record_class(**{name: _build(hints[name], values[name]) for name in hints if name in values})


def _build_one_of(options: tuple[Any, ...], value: Any) -> Any:
    if value is None and types.NoneType in options:
        return None
    for option in options:
        if dataclasses.is_dataclass(option) or typing.get_origin(option) is tuple:
            return _build(option, value)
    return _expect(tuple(_PLAIN_KINDS[option] for option in options if option is not types.NoneType), value)


def _expect(kinds: Any, value: Any) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"{kinds} was expected, not {type(value).__name__}")
    return value
