"""Where a file beside the script has the name of a module that we use: a json.py, a resource.py.

The script, and torch, import theirs, as they would without us; we import the library's. So do modules of the
library that have imported one of these for us: there are two of them then.
"""

from __future__ import annotations

import _imp
import builtins
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

_DEPENDENCIES = frozenset({"PIL", "fsspec", "matplotlib", "psutil", "rich", "werkzeug", "torch_debugger"})
_US = __name__.partition(".")[0]


class Beginning(NamedTuple):
    modules: Set[str]  # that Python itself has loaded before anything of ours
    imports: Set[tuple[str, str]]  # of ours, since: which module has imported which


def keep_apart(folder: str, beginning: Beginning) -> None:
    """Before the script's folder is searched."""
    used = (sys.stdlib_module_names | _DEPENDENCIES) - set(sys.builtin_module_names) - beginning.modules
    names = {name for name in _names_in(folder) & used if not _imp.is_frozen(name)}
    if names:
        apart = _Apart(folder, _with_importers(names, beginning))
        apart.hide()
        builtins.__import__ = apart.around(builtins.__import__)


def _with_importers(names: Set[str], beginning: Beginning) -> Set[str]:
    """Of whom we have the library's, with the library's in them."""
    ours = beginning.modules | {_US, "__main__"}
    more = {by for by, name in beginning.imports if name in names and by not in ours}
    return names if more <= names else _with_importers(names | more, beginning)


def _names_in(folder: str) -> set[str]:
    try:
        return {entry.partition(".")[0] for entry in os.listdir(folder)}
    except OSError:
        return set()


class _Apart:
    def __init__(self, folder: str, names: Set[str]) -> None:
        self._folder, self._names = folder, names
        self._ours: dict[str, ModuleType] = {}
        self._turn = threading.RLock()
        self._inside = False

    def hide(self) -> None:
        self._ours = self._taken_out()

    def around(self, original: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        def __import__(  # noqa: N807
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] = (),
            level: int = 0,
        ) -> ModuleType:
            if self._inside or not _is_us(globals):
                return original(name, globals, locals, fromlist, level)
            with self._among_ours():
                return original(name, globals, locals, fromlist, level)

        return __import__

    @contextmanager
    def _among_ours(self) -> Iterator[None]:
        """As if the script's folder were not there."""
        with self._turn:
            theirs, path = self._taken_out(), sys.path[:]
            sys.modules.update(self._ours)
            sys.path[:] = [entry for entry in path if entry != self._folder]
            self._inside = True
            try:
                yield
            finally:
                self._inside = False
                self._ours = self._taken_out()
                sys.modules.update(theirs)
                sys.path[:] = path

    def _taken_out(self) -> dict[str, ModuleType]:
        concerned = [name for name in list(sys.modules) if name.partition(".")[0] in self._names]
        return {name: sys.modules.pop(name) for name in concerned}


def _is_us(namespace: Mapping[str, Any] | None) -> bool:
    name = namespace.get("__name__") if namespace is not None else None
    return isinstance(name, str) and (name == _US or name.startswith(f"{_US}."))
