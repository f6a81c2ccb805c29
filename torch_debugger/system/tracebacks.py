"""Keeps our frames out of the tracebacks that the user reads."""

from __future__ import annotations

import builtins
import io
import os
import re
import sys
import threading
import types
from contextlib import redirect_stderr
from types import FunctionType, ModuleType, TracebackType
from typing import Any, TextIO

# The child's first file runs in the user's own __main__, so only its path tells that it is ours.
FIRST_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "runner", "child.py")
_OF_CLASSES = type.__dict__  # a metaclass of the script's has its own
_OF_MODULES: Any = vars(ModuleType)
_USED_BY_DIR = {"__dir__", "__class__", "__dict__", "__getattribute__"}  # by dir()
_IN_C = (  # what an entry of a class written in C is
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", None)  # from Python 3.11 on


def is_left_by_hand(error: BaseException) -> bool:
    """Ctrl-C, or `q` at the prompt of pdb, which is not imported to know that."""
    kind = type(error)
    return isinstance(error, KeyboardInterrupt) or (kind.__module__, kind.__name__) == ("bdb", "BdbQuit")


def hide_our_frames(error: BaseException) -> None:
    """Takes our frames off the exception and everything it is chained to."""
    waiting: list[BaseException | None] = [error]
    done: set[int] = set()
    while waiting:
        current = waiting.pop()
        if current is not None and id(current) not in done:
            done.add(id(current))
            # By way of the base class: an exception may refuse to have its attributes set.
            BaseException.with_traceback(current, _without_ours(current.__traceback__))
            waiting += [current.__cause__, current.__context__, *parts_of(current)]


class _HiddenInTracebacks:
    """Around the call of what a function of ours stands in for: a traceback that the script prints of what it
    raises shows the frames that there would be without us. Python 3.10 lists ours all the same."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, entry: TracebackType | None
    ) -> None:
        if error is not None:
            while entry is not None and _is_ours(entry):
                entry = entry.tb_next
            BaseException.with_traceback(error, entry)


hidden_in_tracebacks = _HiddenInTracebacks()


def similar_name(error: BaseException) -> str:
    """ ". Did you mean: 'model'?", which before Python 3.12 is known to the printer in C alone."""
    if sys.version_info >= (3, 12) or not isinstance(error, (NameError, AttributeError)):
        return ""
    if isinstance(error, AttributeError) and not _is_quiet(error.obj):
        return ""
    printed = _Printed(sys.stderr)
    with redirect_stderr(printed):
        sys.__excepthook__(type(error), error, error.__traceback__)
    last = printed.getvalue().rstrip("\n").rpartition("\n")[2]
    _, mark, name = last.rpartition(". Did you mean: ")
    return mark + name if mark and not str(error).endswith(mark + name) else ""


def _is_quiet(thing: object) -> bool:
    """Whether nothing of the script's runs when it is asked for the names of its attributes."""
    kind = type(thing)
    spaces = [_OF_CLASSES["__dict__"].__get__(each) for each in _OF_CLASSES["__mro__"].__get__(kind)]
    if issubclass(kind, ModuleType):
        spaces.append(_OF_MODULES["__dict__"].__get__(thing))
    return not any(_is_scripts(space[name]) for space in spaces for name in _USED_BY_DIR & space.keys())


def _is_scripts(entry: Any) -> bool:
    """Of a class or a module: whether it is written in Python, and not in a library's file."""
    function = entry.fget if type(entry) is property else entry
    if type(function) is FunctionType:
        return is_user_path(function.__code__.co_filename)
    return type(function) not in _IN_C


class _Printed(io.StringIO):
    """What this thread prints; of the others, what they print goes where it went."""

    def __init__(self, before: TextIO | None) -> None:
        super().__init__()
        self._before, self._thread = before, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread or self._before is None:
            return super().write(text)
        return self._before.write(text)


def parts_of(error: BaseException) -> tuple[BaseException, ...]:
    """Of an exception group, without asking it: its class may be the user's."""
    if _GROUP is None or not issubclass(type(error), _GROUP):
        return ()
    parts: tuple[BaseException, ...] = _GROUP.exceptions.__get__(error)
    return parts


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    leads_to_ours = False
    for entry in reversed(entries):
        file = entry.tb_frame.f_code.co_filename
        # Python leaves out the importer's own frames, unless one of ours stands below them.
        leads_to_ours = _is_ours(entry) or (leads_to_ours and file == "<frozen importlib._bootstrap>")
        if not leads_to_ours:
            entry.tb_next = kept
            kept = entry
    return kept


def _is_ours(traceback: TracebackType) -> bool:
    frame = traceback.tb_frame
    if frame.f_code.co_filename == FIRST_FILE:
        return True
    return str(frame.f_globals.get("__name__")).startswith("torch_debugger.")


# Whose file is it: told from the path alone, of any machine and any system.
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\|[^/]*\\[^/]*$")
_INSTALLED = re.compile(
    r"/(?:site|dist)-packages/|/lib(?:64|32)?/(?:python|pypy)[\d.]+/|/[Pp]ython\d*/[Ll]ib/|/Lib/[\w/]+\.py$"
    r"|/Frameworks/Python\.framework/|/lib-dynload/|\.zip/|/bin/(?:torchrun|accelerate|deepspeed|pytest)$"
)
_TORCH_CHECKOUT = re.compile(r"/torch/(?:nn|autograd|optim|utils|distributed|cuda|amp|func|_\w+)/|/torch/_\w+\.py$")
_GENERATED = (
    "<frozen ",
    "<string>",  # what dataclasses and the like write; of `python -c` it is all there is, and taken anyway
    "<eval_with_key>",
    "<attrs generated",
    "<torch_package",
    "<__array_function__",
)


def plain_path(file: str) -> str:
    """With forward slashes, whatever the system was."""
    return file.replace("\\", "/") if _WINDOWS.match(file) else file


def is_user_path(file: str) -> bool:
    if file.startswith(_GENERATED):
        return False
    return not _INSTALLED.search(f"/{file}") and not _TORCH_CHECKOUT.search(f"/{file}")
