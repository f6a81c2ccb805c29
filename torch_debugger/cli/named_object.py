"""An object of the user's, named on the command line: file.py:Net, package.module:make_model."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from types import ModuleType
from typing import Any

from torch_debugger.cli.imported_file import import_file
from torch_debugger.errors import UsageError


def named_object(target: str) -> Any:
    """Dots behind the colon go into what is there: models.py:zoo.Net"""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(
            f"{target!r} names no object: write FILE.py:NAME or MODULE:NAME, such as models.py:Net."
        )
    found: Any = import_file(place) if place.endswith(".py") or os.sep in place else _import_module(place)
    for part in name.split("."):
        found = _attribute(found, part, place)
    return found


def _import_module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` has it
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the module's own code raises
        raise UsageError(f"{name} cannot be imported: {type(error).__name__}: {error}.") from error


def _attribute(holder: Any, name: str, place: str) -> Any:
    if hasattr(holder, name):
        return getattr(holder, name)
    names = [each for each in vars(holder) if not each.startswith("_")] if hasattr(holder, "__dict__") else []
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"{place} has no {name}.{hint}")
