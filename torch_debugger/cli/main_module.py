"""Runs a script or a module as `__main__`, so that it cannot tell `python script.py` from us."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader

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


def run_as_main(program: Program) -> None:
    """Executes the program in `sys.modules["__main__"]`; whatever it raises comes out of here."""
    namespace = vars(sys.modules["__main__"])
    for name in set(namespace) - _FRESH:
        del namespace[name]
    namespace["__name__"] = "__main__"
    if program.module:
        _run_module(program)
    else:
        _run_file(program, namespace)


def _run_module(program: Program) -> None:
    _put_on_path(os.getcwd())
    sys.argv[:] = ["-m", *program.arguments]  # runpy puts the file's path in place of -m
    # The very function the interpreter calls for `python -m`: same errors, same traceback, same globals.
    runpy._run_module_as_main(program.target)  # type: ignore[attr-defined]


def _run_file(program: Program, namespace: dict[str, object]) -> None:
    given = program.target
    path = given if os.path.isabs(given) else os.path.join(os.getcwd(), given)  # python leaves a ./ in as well
    _put_on_path(os.path.dirname(os.path.realpath(path)))
    sys.argv[:] = [given, *program.arguments]
    namespace.update(__file__=path, __cached__=None, __doc__=None, __package__=None, __spec__=None)
    namespace["__loader__"] = SourceFileLoader("__main__", path)
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec", dont_inherit=True), namespace)


def _put_on_path(folder: str) -> None:
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path.insert(0, folder)
