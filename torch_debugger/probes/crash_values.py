"""Locals of a user's frame that are no tensors: what they are, and of plain ones how much.

Objects of the user's are never asked to print themselves, and no string is kept that the failing
statement does not mention or whose name sounds like a secret.
"""

from __future__ import annotations

import itertools
import re
from types import ModuleType
from typing import Any

from torch_debugger.anatomy.kinds import is_a, is_one_of, kept_attribute, long_name_of_class, module_of_class
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.records import LocalValue
from torch_debugger.redaction import redact_value

_VALUES, _TEXT, _READ = 60, 80, 2000
_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes)


def values_in(seen: Seen) -> tuple[LocalValue, ...]:
    """The frame's own locals; at module level only the names the failing statement mentions."""
    if not seen.user:
        return ()
    mentioned = set(re.findall(r"[A-Za-z_]\w*", statement_at(seen.file, seen.line)[1]))
    at_top = seen.function == "<module>"
    held = [
        (name, value) for name, value in seen.frame.f_locals.items() if not (at_top and name not in mentioned)
    ]
    told = [(name, value) for name, value in held if not name.startswith("__") and not is_tensor(value)]
    told.sort(key=lambda pair: pair[0] not in mentioned)
    return tuple(_describe(name, value, name in mentioned) for name, value in itertools.islice(told, _VALUES))


def _describe(name: str, value: Any, mentioned: bool) -> LocalValue:
    size = len(value) if is_one_of(value, _CONTAINERS) else None
    return LocalValue(name, kind_name(type(value)), _text(name, value, mentioned), size)


def kind_name(kind: type) -> str:
    """int, numpy.ndarray, Net: builtins and the user's main file without their module."""
    home, name = module_of_class(kind), long_name_of_class(kind)
    return name if home in ("builtins", "__main__") else f"{home}.{name}"


def _text(name: str, value: Any, mentioned: bool) -> str:
    if value is None or is_one_of(value, (int, float, bool)):
        return repr(redact_value(name, value))[:_TEXT]
    if type(value) is str:
        return repr(redact_value(name, value[:_READ])[:_TEXT]) if mentioned else ""
    if is_a(value, type):
        return f"class {kind_name(value)}"
    if type(value) is ModuleType:
        return f"module {value.__name__}"
    if kind_name(type(value)) == "numpy.ndarray":
        return f"{value.dtype} {list(value.shape)}"
    return ""


_CARRIED = ("errno", "filename", "name", "path", "lineno", "code")


def carried_by(error: BaseException) -> dict[str, str | int]:
    """What the exception itself carries: an errno, the name that was missing, the key."""
    kept: dict[str, str | int] = {}
    for name in _CARRIED:
        value = kept_attribute(error, name)
        if is_one_of(value, (str, int)):
            kept[name] = value if type(value) is int else str(value)[:_TEXT]
    if isinstance(error, KeyError) and error.args and is_one_of(error.args[0], (str, int)):
        kept["key"] = error.args[0] if type(error.args[0]) is int else str(error.args[0])[:_TEXT]
    if isinstance(error, AttributeError):
        kept["object"] = kind_name(type(kept_attribute(error, "obj")))
    return kept
