"""Runs a script or a module as `__main__`, so that it cannot tell `python script.py` from us."""

from __future__ import annotations

import atexit
import io
import os
import pkgutil
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader

from torch_debugger.cli.own_imports import Beginning, keep_apart

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
    given = program.target
    sys.argv[:] = [given, *program.arguments]
    if given == "-":
        _put_on_path("", beginning)
        namespace.update(__file__="<stdin>", __cached__=None, __loader__=BuiltinImporter)
        exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True), namespace)
        return
    path = given if os.path.isabs(given) else os.path.join(os.getcwd(), given)  # python leaves a ./ in as well
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
        kept: dict[str, object] = {
            name: namespace[name] for name in ("__file__", "__cached__") if name in namespace
        }
        atexit.register(namespace.update, kept)  # not Python: the script may listen to what is called


def _put_on_path(folder: str, beginning: Beginning | None) -> None:
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        if beginning is not None:
            keep_apart(folder, beginning)
        sys.path.insert(0, folder)
