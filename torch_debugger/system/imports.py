"""Told when a module has been imported, without importing it ourselves.

A finder at the front of `sys.meta_path` lets the usual finders find the module, and calls back
when its code has run. The module's loader is left as it was.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Callback = Callable[[ModuleType], None]


def when_imported(name: str, callback: Callback) -> Callable[[], None]:
    """Call back with the module: now if it is imported already, else as soon as it is.

    Returns a function that calls the waiting off.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        callback(module)
        return lambda: None
    finder = _Finder(name, callback)
    sys.meta_path.insert(0, finder)
    return finder.stop


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, callback: Callback) -> None:
        self._name = name
        self._callback = callback
        self._looking = False

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        if spec is not None and hasattr(spec.loader, "__dict__") and not isinstance(spec.loader, type):
            self._listen(spec.loader)
        return spec

    def _listen(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # of several who wait, the first takes it off for all
            execute(module)
            self.stop()
            self._callback(module)

        loader.exec_module = exec_module
