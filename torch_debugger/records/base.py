"""What every record is: a frozen msgspec.Struct. To define 260 dataclasses took a third of a second."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import field

__all__ = ["BaseRecord", "field"]


class _OfDataclass:
    """An attribute of a dataclass with the same fields, which is made when somebody asks."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: object, record_class: Any) -> Any:
        return getattr(_as_dataclass(record_class), self._name)


@functools.cache
def _as_dataclass(record_class: type[BaseRecord]) -> type:
    names, defaults = record_class.__struct_fields__, record_class.__struct_defaults__
    optional = {name: _with_default(default) for name, default in zip(names[::-1], defaults[::-1], strict=False)}
    hints: dict[str, Any] = {}
    for each in reversed(record_class.__mro__):
        hints |= getattr(each, "__annotations__", {})
    fields = [(name, hints[name], optional.get(name, dataclasses.field())) for name in names]
    return dataclasses.make_dataclass(record_class.__name__, fields, init=False, eq=False, repr=False)


def _with_default(default: Any) -> Any:
    make = getattr(default, "factory", None)
    return dataclasses.field(default=default) if make is None else dataclasses.field(default_factory=make)


class BaseRecord(msgspec.Struct, frozen=True):
    """`dataclasses.fields`, `replace`, `asdict` and `is_dataclass` take it for a dataclass."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    else:
        __dataclass_fields__ = _OfDataclass()
        __dataclass_params__ = _OfDataclass()  # pprint and pytest's explanations of == look at them


def to_plain(record: BaseRecord) -> dict[str, Any]:
    """A dictionary of JSON values. Not for Scalars and TensorRows, which have forms of their own."""
    return {name: _plain(getattr(record, name)) for name in record.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseRecord):
        return to_plain(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value] if isinstance(value, list) else tuple(map(_plain, value))
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value
