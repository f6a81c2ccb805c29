"""What an object is and holds, without asking it.

`isinstance` reads `__class__`, which a lazy proxy answers by making the real object, and which may even end the
program; `getattr` and `hasattr` run whatever a class of the user's has for them, and to compare a class, or ask
it for its name, runs what its metaclass has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from typing_extensions import TypeIs


Kind = TypeVar("Kind")
MISSING = object()
_MOST_CLASSES = 10_000
_looked_at: dict[int, tuple[ref[type], bool]] = {}
_KNOWN_PACKAGES = {*sys.stdlib_module_names, "torch", "numpy"}
_OF_CLASSES = type.__dict__
classes_of: Callable[[type], tuple[type, ...]] = _OF_CLASSES["__mro__"].__get__  # itself and those above it
name_of_class: Callable[[type], str] = _OF_CLASSES["__name__"].__get__
long_name_of_class: Callable[[type], str] = _OF_CLASSES["__qualname__"].__get__  # with the classes around it
class_dict: Callable[[type], Mapping[str, Any]] = _OF_CLASSES["__dict__"].__get__
# What Python says of the slot that it makes for the instances of a class statement.
_SLOT_OF_CLASSES = class_dict(type("_", (), {}))["__dict__"].__doc__


def is_a(value: Any, kind: type[Kind] | tuple[type[Kind], ...]) -> TypeIs[Kind]:
    """As isinstance, for whatever may be an object of the user's."""
    return issubclass(type(value), kind)


def is_one_of(value: Any, kinds: Iterable[type]) -> bool:
    """Its class is one of these, and none that inherits from them."""
    kind = type(value)
    for each in kinds:  # noqa: SIM110  asked of everything that a script holds
        if each is kind:
            return True
    return False


def module_of_class(kind: type) -> str:
    found = _OF_CLASSES["__module__"].__get__(kind)  # of classes made in C too
    return found if type(found) is str else "builtins"


def is_dataclass(value: Any) -> bool:
    """An instance of one."""
    return any("__dataclass_fields__" in class_dict(kind) for kind in classes_of(type(value)))


def fields_of(value: Any) -> dict[str, Any]:
    """Of a dataclass: those that have a value."""
    found = (class_dict(kind).get("__dataclass_fields__") for kind in classes_of(type(value)))
    fields: dict[str, Any] = next((each for each in found if type(each) is dict), {})  # records of ours have none
    values = {name: kept_attribute(value, name) for name, field in fields.items() if field._field_type.name == "_FIELD"}
    return {name: item for name, item in values.items() if item is not MISSING}


def kept_attribute(value: Any, name: str) -> Any:
    """In its dictionary, in a slot (__slots__, or those of exceptions) or in its class; else MISSING."""
    own = own_attributes(value)
    if name in own:
        return own[name]
    spaces = map(class_dict, classes_of(type(value)))
    found = next((space[name] for space in spaces if name in space), MISSING)
    if type(found) is not MemberDescriptorType:
        return found
    try:
        return found.__get__(value)
    except AttributeError:  # has none yet
        return MISSING


def own_attributes(value: Any) -> dict[str, Any]:
    """The instance dictionary of a plain object, without asking the object."""
    if issubclass(type(value), type | ModuleType):  # not isinstance: an object may lie about its class
        return {}
    if not _has_pythons_dictionary(type(value)):
        return {}
    attributes = object.__getattribute__(value, "__dict__")
    return attributes if type(attributes) is dict else {}


def _has_pythons_dictionary(kind: type) -> bool:
    """Asked of all that a script holds, so each class is looked at once. By its number: to find a class in
    a dictionary may run what its metaclass has."""
    known = _looked_at.get(id(kind))
    if known is not None and known[0]() is kind:
        return known[1]
    if len(_looked_at) >= _MOST_CLASSES:
        _looked_at.clear()
    found = next((each for each in classes_of(kind) if "__dict__" in class_dict(each)), None)
    answer = found is not None and _is_pythons(found, class_dict(found)["__dict__"])
    _looked_at[id(kind)] = ref(kind), answer
    return answer


def _is_pythons(kind: type, slot: Any) -> bool:
    """Whether this class hands out a dictionary as Python does: a proxy written in C, as wrapt's are, makes the
    real object first, and a property may do anything."""
    return type(slot) is MemberDescriptorType or (
        type(slot) is GetSetDescriptorType and (slot.__doc__ == _SLOT_OF_CLASSES or _package(kind) in _KNOWN_PACKAGES)
    )


def _package(kind: type) -> str:
    return module_of_class(kind).partition(".")[0]
