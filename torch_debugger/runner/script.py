"""Runs a script or a module as `__main__`, so that it cannot tell `python script.py` from us."""

from __future__ import annotations

import _imp
import atexit
import builtins
import io
import os
import pkgutil
import runpy
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader
from types import ModuleType
from typing import Any, NamedTuple

# What python itself puts into a fresh __main__; all else there is left over from us.
_FRESH = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__", "__builtins__"}


@dataclass(frozen=True)
class Program:
    """What stands on the command line after our options: `train.py --lr 0.1` or `-m package.module`."""

    target: str
    arguments: Sequence[str] = ()
    module: bool = False

    @property
    def words(self) -> list[str]:
        """As they would follow `python`."""
        return [*(["-m"] if self.module else []), self.target, *self.arguments]


def run_as_main(program: Program, beginning: Beginning | None = None) -> None:
    """Executes the program in `sys.modules["__main__"]`; whatever it raises comes out of here. With its
    `beginning`, it sees no modules that are there for our sake."""
    namespace = vars(sys.modules["__main__"])
    for name in set(namespace) - _FRESH:
        del namespace[name]
    namespace["__name__"] = "__main__"
    if program.module:
        _run_module(program, beginning)
    else:
        _run_file(program, namespace, beginning)


def _run_module(program: Program, beginning: Beginning | None) -> None:
    _put_on_path(os.getcwd(), beginning)
    sys.argv[:] = ["-m", *program.arguments]  # runpy puts the file's path in place of -m
    _run_by_runpy(program.target)


def _run_file(program: Program, namespace: dict[str, object], beginning: Beginning | None) -> None:
    target = program.target
    sys.argv[:] = [target, *program.arguments]
    if target == "-":
        _put_on_path("", beginning)
        namespace.update(__file__="<stdin>", __cached__=None, __loader__=BuiltinImporter)
        exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True), namespace)
        return
    path = target if os.path.isabs(target) else os.path.join(os.getcwd(), target)  # python leaves a ./ in as well
    if pkgutil.get_importer(path) is not None:  # a folder or a zip file, with a __main__.py
        _put_on_path(path, beginning)
        _run_by_runpy("__main__", alter_argv=False)
        return
    _put_on_path(os.path.dirname(os.path.realpath(path)), beginning)
    namespace.update(__file__=path, __cached__=None, __doc__=None, __package__=None, __spec__=None)
    with open(path, "rb") as file:
        source = file.read()  # once: it may be a pipe of the shell's
    compiled = pkgutil.read_code(io.BytesIO(source))
    namespace["__loader__"] = (SourceFileLoader if compiled is None else SourcelessFileLoader)("__main__", path)
    exec(compiled or compile(source, path, "exec", dont_inherit=True), namespace)


def _run_by_runpy(module: str, alter_argv: bool = True) -> None:
    """The very function the interpreter calls for `python -m`: same errors, same traceback, same globals."""
    try:
        runpy._run_module_as_main(module, alter_argv=alter_argv)  # type: ignore[attr-defined]
    finally:
        # After a file, and it has been started with one of ours, the interpreter removes these names.
        namespace = vars(sys.modules["__main__"])
        kept: dict[str, object] = {name: namespace[name] for name in ("__file__", "__cached__") if name in namespace}
        atexit.register(namespace.update, kept)  # not Python: the script may listen to what is called


def _put_on_path(folder: str, beginning: Beginning | None) -> None:
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        if beginning is not None:
            keep_apart(folder, beginning)
        sys.path.insert(0, folder)


# Where a file beside the script has the name of a module that we use: a json.py, a resource.py.
#
# The script, and torch, import theirs, as they would without us; we import the library's. So do modules of the
# library that have imported one of these for us: there are two of them then.
_DEPENDENCIES = frozenset(
    {"PIL", "fsspec", "matplotlib", "msgspec", "psutil", "rich", "torch_debugger", "typing_extensions", "werkzeug"}
)
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
