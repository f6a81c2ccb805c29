"""Plain JSON values back to records, by their type hints; unknown fields are left out, so that a newer log
still reads."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from torch_debugger import records as _records
from torch_debugger.records import LoggedSummary, Record, Scalars, TensorRows
from torch_debugger.records.base import BaseRecord, to_plain

__all__ = ["from_plain", "to_plain"]

_WITH_FORMS_OF_THEIR_OWN = (Scalars, TensorRows, LoggedSummary)
# A script may say 1 for True, and whole numbers for others.
_PLAIN_KINDS = {str: str, bool: int, int: int, float: (int, float)}


def from_plain(kind: str, plain: Any) -> Record | None:
    """The record of class `kind`, or None for a class this version does not know. Raises TypeError where a
    value is not of the kind that its field holds: any file may hold an event with our tag."""
    record_class: Any = getattr(_records, kind, None)
    if not _is_record(record_class) or issubclass(record_class, _WITH_FORMS_OF_THEIR_OWN):
        return None
    return typing.cast(Record, _builder(record_class)(plain))


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseRecord)


@functools.cache
def _builder(hint: Any) -> Callable[[Any], Any]:
    """Worked out once: a log holds many thousands of a kind."""
    if _is_record(hint):
        return lambda value: _build_record(hint, _expect(dict, value))
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _builder_of_one_of(inner)
    if origin is tuple:
        build = _builder(inner[0])
        return lambda value: tuple(map(build, _expect((list, tuple), value)))
    if origin is dict:
        build = _builder(inner[1])
        return lambda value: {name: build(item) for name, item in _expect(dict, value).items()}
    kinds = _PLAIN_KINDS[hint]
    return _whole if hint is int else lambda value: _expect(kinds, value)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else _expect(int, value)


def _build_record(record_class: Any, values: dict[str, Any]) -> Any:
    return record_class(**{name: build(values[name]) for name, build in _fields(record_class) if name in values})


@functools.cache
def _fields(record_class: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """When the first is built, and not before: a record may hold others of its own class."""
    hints = typing.get_type_hints(record_class)
    return tuple((name, _builder(hints[name])) for name in record_class.__struct_fields__)


def _builder_of_one_of(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    chosen = (each for each in options if _is_record(each) or typing.get_origin(each) is tuple)
    build = _builder(first) if (first := next(chosen, None)) is not None else _expecting(options)
    may_be_none = types.NoneType in options
    return lambda value: None if value is None and may_be_none else build(value)


def _expecting(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    kinds = tuple(_PLAIN_KINDS[option] for option in options if option is not types.NoneType)
    return lambda value: _expect(kinds, value)


def _expect(kinds: Any, value: Any) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"{kinds} was expected, not {type(value).__name__}")
    return value
