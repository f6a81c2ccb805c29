"""The catalog: every check found by walking the family folders."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch_debugger import checks
from torch_debugger.checks.base import Check
from torch_debugger.system.errors import UsageError

FAMILIES = ("setup", "data", "activations", "gradients", "training", "numerics", "speed", "ranks", "crashes")


@functools.cache
def catalog() -> tuple[type[Check], ...]:
    """All checks, by id."""
    # By __mro__: issubclass() of an ABC asks all its two hundred subclasses whether they know the class.
    found: list[type[Check]] = []
    for module in pkgutil.walk_packages(checks.__path__, checks.__name__ + "."):
        if module.name.split(".")[2] in FAMILIES:
            loaded = importlib.import_module(module.name)
            found += [
                item
                for item in vars(loaded).values()
                if isinstance(item, type) and Check in item.__mro__ and item.__module__ == module.name
                if hasattr(item, "id")  # else it is what several checks have in common
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


# The cause graph: which faults bring about which others, also by way of a third.
@functools.cache
def consequences() -> Mapping[str, frozenset[str]]:
    """Each check's name with the names of all that its fault may bring about."""
    direct = {check.name: check.explains for check in catalog()}
    reached: dict[str, frozenset[str]] = {}
    for name, waiting in direct.items():
        found: set[str] = set()
        while new := set(waiting) - found:
            found |= new
            waiting = tuple(following for each in new for following in direct.get(each, ()))
        reached[name] = frozenset(found)
    return reached


# A check's docstring taken apart: the one text behind `explain`, the docs and the viewer.
HEADINGS = ("Symptom", "Evidence", "Fix", "Known limits")


@dataclass(frozen=True, slots=True)
class Page:
    summary: str
    sections: dict[str, str]  # by heading; paragraphs are parted by an empty line
    explained_by: tuple[str, ...]  # names of checks whose findings cause this one's


def page(check: type[Check]) -> Page:
    text = inspect.cleandoc(check.__doc__ or "")
    summary, *rest = re.split(rf"^({'|'.join(HEADINGS)}):\s", text, flags=re.MULTILINE)
    sections = {heading: _flowing(body) for heading, body in zip(rest[::2], rest[1::2], strict=True)}
    causes = tuple(other.name for other in catalog() if check.name in other.explains)
    return Page(_flowing(summary), sections, causes)


def _flowing(text: str) -> str:
    """Paragraphs as single lines, so that each reader may wrap them to its own width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text.strip()))
