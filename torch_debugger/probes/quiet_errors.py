"""Exceptions whose class is the script's own, told without running what it has made of their methods."""

from __future__ import annotations

import traceback
from types import FunctionType
from typing import Any

from torch_debugger.anatomy.kinds import (
    class_dict,
    classes_of,
    long_name_of_class,
    module_of_class,
    name_of_class,
    own_attributes,
)
from torch_debugger.anatomy.sources import is_user_file

_CHAIN_LENGTH = 50
FAILED = "<exception str() failed>"  # what Python prints in the place of a text that cannot be made


def told_by(error: BaseException) -> traceback.TracebackException:
    """As Python prints it, for which each text is asked for once."""
    return traceback.TracebackException(type(error), error, error.__traceback__, limit=1_000_000, compact=True)


def text_in(told: traceback.TracebackException) -> str:
    """Of the first plain exception inside (nested) exception groups."""
    for _ in range(_CHAIN_LENGTH):
        inner = getattr(told, "exceptions", None)
        if not inner:
            break
        told = inner[0]
    return str(told._str)  # type: ignore[attr-defined]


def quiet(error: BaseException, text: str) -> BaseException:
    """The exception, or a twin of the same name with that text whose class has no methods of the script's: its
    __str__ may count its calls, draw random numbers or end the process."""
    kinds = classes_of(type(error))
    if not any(map(_has_the_scripts_methods, kinds)):
        return error
    base = next(kind for kind in kinds if not any(map(_has_the_scripts_methods, classes_of(kind))))
    names = {"__module__": module_of_class(type(error)), "__qualname__": long_name_of_class(type(error))}
    plain: Any = type(name_of_class(type(error)), (base,), names)
    twin: BaseException = plain.__new__(plain, text)
    own_attributes(twin).update(own_attributes(error))
    for name in ("__traceback__", "__cause__", "__context__", "__suppress_context__"):
        slot = class_dict(BaseException)[name]
        slot.__set__(twin, slot.__get__(error))
    return twin


def _has_the_scripts_methods(kind: type) -> bool:
    return any(
        type(method) is FunctionType and is_user_file(method.__code__.co_filename)
        for name, method in class_dict(kind).items()
        if name != "__init__"
    )
