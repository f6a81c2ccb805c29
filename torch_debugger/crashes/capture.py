"""A crash, captured once it has happened: no hook is needed, the traceback's frames hold it all."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

from torch import nn

from torch_debugger.crashes.frames import (
    LiveCrash,
    LiveFrame,
    Running,
    carried_by,
    is_ours,
    kind_name,
    statement_at,
    tensors_in,
    values_in,
    walk_traceback,
)
from torch_debugger.crashes.layers import find_layer, module_paths
from torch_debugger.crashes.replay import EagerAnswer, ask_eager, replay_last_call, replay_shapes, views_before
from torch_debugger.records import CrashEvidence, CrashFact, CrashFrame, FlowStep, Place
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.objects import (
    class_dict,
    classes_of,
    long_name_of_class,
    module_of_class,
    name_of_class,
    own_attributes,
)
from torch_debugger.system.signals import alarms_deferred
from torch_debugger.system.tracebacks import parts_of, similar_name

# A few more open files than the script may have, while a crash is looked at.
_SPARE = 32
_own: list[int] = []  # the script's own limit, while it has more


@contextlib.contextmanager
def spare_files() -> Iterator[None]:
    """Sources must be read also where the crash is that no file can be opened any more."""
    try:
        import resource  # not on Windows
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _own or soft == resource.RLIM_INFINITY or (hard != resource.RLIM_INFINITY and soft + _SPARE > hard):
        yield
        return
    _own.append(soft)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft + _SPARE, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_own.pop(), hard))


def file_limit() -> int:
    """How many files the script itself may have open."""
    import resource

    return _own[0] if _own else resource.getrlimit(resource.RLIMIT_NOFILE)[0]


_MESSAGE_LENGTH = 20_000
_CHAIN_LENGTH = 50
_CAUSES = 3
_ALONE = Running()
_NO_TEXT = "<the exception's text could not be made: its __str__ fails>"

Made = TypeVar("Made")


@alarms_deferred()
@spare_files()
def capture_crash(error: BaseException, step: int, running: Running = _ALONE, depth: int = 0) -> CrashFact:
    """What the exception and its frames tell. Never raises: a part that cannot be had stays empty."""
    described = _or(None, lambda: traceback_exception(error))
    text = FAILED if described is None else text_in(described)[:_MESSAGE_LENGTH]
    leaf = _or(error, lambda: _first_leaf(error))
    cause = _or(leaf, lambda: quiet(leaf, text))
    whole = cause if leaf is error else error
    frames: list[LiveFrame] = _or([], lambda: walk_traceback(cause.__traceback__))
    roots = {id(module): name for name, module in running.models.items()}
    paths: dict[int, str] = _or({}, lambda: module_paths(frames, roots))

    def capture(again: BaseException, models: Mapping[str, nn.Module]) -> CrashFact:
        return capture_crash(again, step, Running({**running.models, **models}), _CAUSES)

    # How a call goes without the compiler that failed on it; its crash is what the compiler's stands for.
    eager: EagerAnswer | None = _or(None, lambda: ask_eager(cause, frames, paths, capture))
    called = tuple(_or(_bare(seen), functools.partial(_frame, seen, paths)) for seen in frames)
    uncompiled: CrashFact | None = None
    if eager is not None and eager.crash is not None:
        inner = called[: eager.outside] + eager.crash.frames
        uncompiled = dataclasses.replace(eager.crash, frames=inner)
    crash = LiveCrash(cause, frames, paths, running, eager)
    # Examiners ask for class and text; where those of the user's own making fail, none is asked.
    can_be_examined = text != FAILED and _or(False, lambda: isinstance(cause, Warning) or True)
    return CrashFact(
        kind=type(cause).__name__,
        message=_NO_TEXT if text == FAILED else text,
        frames=called,
        place=_or(Place(), lambda: _user_place(frames, paths)),
        layer=_or(None, lambda: find_layer(frames, paths)),
        traceback=_or(
            f"{type(cause).__name__}: {text}\n",
            lambda: _traceback_text(described or traceback_exception(error), whole),
        ),
        step=step,
        flow=tuple(_flow(cause, frames, paths, running)),
        qualified=_or("", lambda: kind_name(type(cause))),
        bases=tuple(map(name_of_class, classes_of(type(leaf)))),
        attributes=_or({}, lambda: carried_by(cause)),
        causes=(uncompiled,) if uncompiled else _or((), lambda: _causes(cause, step, running, depth)),
        raised_from=cause.__cause__ is not None or uncompiled is not None,
        evidence=_evidence(crash) if can_be_examined else CrashEvidence(),
    )


def _flow(
    error: BaseException, frames: Sequence[LiveFrame], paths: Mapping[int, str], running: Running
) -> list[FlowStep]:
    """What ran before a crash inside a model; before one behind it, the model's last call."""
    inside: list[FlowStep] = _or([], lambda: replay_shapes(error, frames, paths))
    if inside:
        return inside
    whole: list[FlowStep] = _or([], lambda: replay_last_call(error, frames, running))
    views: list[FlowStep] = _or([], lambda: views_before(frames))
    return whole + views


def _evidence(crash: LiveCrash) -> CrashEvidence:
    # Thirty files, which a training that does not crash need not hold in memory.
    from torch_debugger.crashes.evidence import examine_all

    return examine_all(crash)


def _causes(error: BaseException, step: int, running: Running, depth: int) -> tuple[CrashFact, ...]:
    """What it was raised from, else what was being handled; each with its own behind it."""
    behind = error.__cause__
    if behind is None and not error.__suppress_context__:  # not `or`: an exception may refuse to be a bool
        behind = error.__context__
    if behind is None or depth >= _CAUSES:
        return ()
    fact = capture_crash(behind, step, running, depth + 1)
    return dataclasses.replace(fact, causes=()), *fact.causes


def _or(otherwise: Made, make: Callable[[], Made]) -> Made:
    """What can be made, else the stand-in: half an explanation of a crash beats a second crash."""
    try:
        return make()
    except (Exception, SystemExit):  # a __str__ of the user's may even end the program
        return otherwise


def _first_leaf(error: BaseException) -> BaseException:
    """The first plain exception inside (nested) exception groups."""
    for _ in range(_CHAIN_LENGTH):
        parts = parts_of(error)
        if not parts:
            return error
        error = parts[0]
    return error


def _frame(seen: LiveFrame, paths: Mapping[int, str]) -> CrashFrame:
    module = seen.module()
    code_line, code = statement_at(seen.file, seen.line)
    return CrashFrame(
        file=seen.file,
        line=seen.line,
        function=seen.function,
        code=code,
        user=seen.user,
        module=paths.get(id(module)) if module is not None else None,
        kind=type(module).__name__ if module is not None else None,
        tensors=tensors_in(seen),
        code_line=code_line,
        failing=_or("", lambda: seen.failing),
        values=_or((), lambda: values_in(seen)),
    )


def _bare(seen: LiveFrame) -> CrashFrame:
    return CrashFrame(seen.file, seen.line, seen.function, "", False, None, None, ())


def _user_place(frames: Sequence[LiveFrame], paths: Mapping[int, str]) -> Place:
    """The innermost line of the user's; of anyone's, where the user has none."""
    users = [seen for seen in frames if seen.user] or list(frames)
    if not users:
        return Place()
    module = users[-1].module()
    return place_at(users[-1].file, users[-1].line, paths.get(id(module)) if module is not None else None)


def _traceback_text(described: traceback.TracebackException, error: BaseException) -> str:
    limit = getattr(sys, "tracebacklimit", None)  # what Python itself prints of an exception that nobody catches
    limit = max(limit, 0) if type(limit) is int else 1000 if sys.version_info < (3, 13) else sys.maxsize
    waiting, seen = [described], set()
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            part.stack[:] = [summary for summary in part.stack if not is_ours(summary.filename)]
            # Before Python 3.13 what prints is in C, and reads no line out of an archive.
            for summary in part.stack if sys.version_info < (3, 13) else ():
                if not os.path.exists(summary.filename):
                    summary._line = ""  # type: ignore[attr-defined]
            if limit:
                del part.stack[:-limit]
            else:  # then not even the line above them
                part.stack = None  # type: ignore[assignment]
            inner = [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())]
            waiting += [item for item in inner if item is not None]
    return "".join(described.format()).removesuffix("\n") + _or("", lambda: similar_name(error)) + "\n"


# Exceptions whose class is the script's own, told without running what it has made of their methods.
FAILED = "<exception str() failed>"  # what Python prints in the place of a text that cannot be made


def traceback_exception(error: BaseException) -> traceback.TracebackException:
    """As Python prints it, for which each text is asked for once."""
    return traceback.TracebackException(type(error), error, error.__traceback__, limit=1_000_000, compact=True)


def text_in(described: traceback.TracebackException) -> str:
    """Of the first plain exception inside (nested) exception groups."""
    for _ in range(_CHAIN_LENGTH):
        inner = getattr(described, "exceptions", None)
        if not inner:
            break
        described = inner[0]
    return str(described._str)  # type: ignore[attr-defined]


def quiet(error: BaseException, text: str) -> BaseException:
    """The exception, or a twin of the same name with that text whose class has no methods of the script's: its
    __str__ may count its calls, draw random numbers or end the process."""
    kinds = classes_of(type(error))
    if not any(map(_has_the_scripts_methods, kinds)):
        return error
    base = next(kind for kind in kinds if not any(map(_has_the_scripts_methods, classes_of(kind))))
    names = {"__module__": module_of_class(type(error)), "__qualname__": long_name_of_class(type(error))}
    plain: Any = type(name_of_class(type(error)), (base,), names)
    substitute: BaseException = plain.__new__(plain, text)
    own_attributes(substitute).update(own_attributes(error))
    for name in ("__traceback__", "__cause__", "__context__", "__suppress_context__"):
        slot = class_dict(BaseException)[name]
        slot.__set__(substitute, slot.__get__(error))
    return substitute


def _has_the_scripts_methods(kind: type) -> bool:
    return any(
        type(method) is FunctionType and is_user_file(method.__code__.co_filename)
        for name, method in class_dict(kind).items()
        if name != "__init__"
    )
