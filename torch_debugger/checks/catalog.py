"""The catalog: every check found by walking the family folders, one class a file."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil

from torch_debugger import checks
from torch_debugger.checks.base import Check
from torch_debugger.errors import UsageError

FAMILIES = ("setup", "data", "activations", "gradients", "training", "numerics", "speed", "ranks", "crashes")


@functools.cache
def catalog() -> tuple[type[Check], ...]:
    """All checks, by id."""
    found: list[type[Check]] = []
    for module in pkgutil.walk_packages(checks.__path__, checks.__name__ + "."):
        if module.name.split(".")[2] in FAMILIES:
            loaded = importlib.import_module(module.name)
            found += [
                item
                for item in vars(loaded).values()
                if isinstance(item, type) and issubclass(item, Check) and item.__module__ == module.name
            ]
    return tuple(sorted(found, key=lambda check: check.id))


def find_check(name: str) -> type[Check]:
    """The check with this name or id; a UsageError that lists close names otherwise."""
    wanted = name.strip().lower()
    for check in catalog():
        if wanted in (check.name, check.id.lower()):
            return check
    names = [check.name for check in catalog()]
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"Did you mean {', '.join(close)}?" if close else "`torch-debugger checks` lists them all."
    raise UsageError(f"There is no check named {name!r}. {hint}")


def family(check: type[Check]) -> str:
    """The folder a check lives in."""
    return check.__module__.split(".")[2]
