"""What an object of the user's holds, read without running a line of the user's code.

No attribute is asked for: an instance's dictionary, its slots and its class are read past every property,
`__getattr__` and metaclass.
"""

from __future__ import annotations

import enum
import os
import sys
import types
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

_MOST = 1000  # entries looked at in one object
_OF_CLASSES = type.__dict__
_CLASS_DICT = _OF_CLASSES["__dict__"].__get__
_MRO = _OF_CLASSES["__mro__"].__get__


def identities(*kinds: type) -> frozenset[int]:
    """For `id(type(value)) in ...`: to compare classes themselves may run the code of a metaclass."""
    return frozenset(map(id, kinds))


PLAIN = identities(bool, int, float, str)
_KEYS = identities(str, int)
_DESCRIPTORS = identities(types.GetSetDescriptorType, types.MemberDescriptorType)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether the value is of this class; a module that the program has not imported is left alone."""
    home = sys.modules.get(module)
    wanted = vars(home).get(name) if type(home) is types.ModuleType else None
    return wanted is not None and any(kind is wanted for kind in _MRO(type(value)))


def is_by_user(kind: type) -> bool:
    """Whether a class is written in a file of the user's: no library's, no builtin."""
    home = _CLASS_DICT(kind).get("__module__")
    return home == "__main__" or (type(home) is str and is_users_module(sys.modules.get(home)))


def is_users_module(module: Any) -> bool:
    file = vars(module).get("__file__") if type(module) is types.ModuleType else None
    if type(file) is not str:
        return False
    installed = "site-packages" in file or "dist-packages" in file
    return not installed and not file.startswith(os.path.dirname(os.__file__))


def has_in_class(value: Any, *names: str) -> bool:
    """Whether a class of the value's says so; `__dataclass_fields__` makes a dataclass."""
    return any(name in _CLASS_DICT(kind) for kind in _MRO(type(value)) for name in names)


def instance_dict(value: Any) -> dict[str, Any]:
    """The instance's own attributes, those in slots too."""
    held: dict[str, Any] = {}
    for kind in reversed(_MRO(type(value))):
        for name, entry in list(_CLASS_DICT(kind).items()):
            if name == "__dict__" and id(type(entry)) in _DESCRIPTORS:
                inside = entry.__get__(value)
                held |= inside if type(inside) is dict else {}
            elif type(entry) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    held[name] = entry.__get__(value)
                except AttributeError:  # a slot that was never filled
                    continue
    return held


def class_name(kind: type) -> str:
    return str(_OF_CLASSES["__name__"].__get__(kind))


def class_attributes(kind: type) -> dict[str, Any]:
    """Those that the class and its parents define: `class CFG: lr = 1e-3`."""
    held: dict[str, Any] = {}
    for each in reversed(_MRO(kind)):
        if each is not object:
            held |= _CLASS_DICT(each)
    return held


def entries(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """A dictionary's pairs with plain keys, also of a subclass that has an `items` of its own."""
    for key, item in list(dict.items(value))[:_MOST]:
        if id(type(key)) in _KEYS:
            yield str(key), item


def plain_value(value: Any) -> bool | int | float | str | None:
    """A number, a text or a truth value; None for everything else."""
    kind = type(value)
    if id(kind) in PLAIN:
        return value  # type: ignore[no-any-return]
    if _is_of_library(kind, "torch") and kind.__name__ in ("device", "dtype"):
        return str(value)
    if _is_of_library(kind, "numpy") and kind.__name__.startswith(("bool", "float", "int", "uint")):
        return value.item()  # type: ignore[no-any-return]
    if issubclass(kind, PurePath) and _is_of_library(kind, "pathlib"):
        return str(value)
    if issubclass(kind, enum.Enum):
        name = instance_dict(value).get("_name_")
        return name if type(name) is str else None
    return None


def _is_of_library(kind: type, library: str) -> bool:
    """The very class of this library, none that only calls itself so."""
    home = sys.modules.get(library)
    return home is not None and vars(home).get(class_name(kind)) is kind
