"""Whose line is it: from the running frame out to the user's own code."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar

from torch_debugger.records import Place
from torch_debugger.source.files import is_user_file, nodes_of, package_folder, place_at, tree_of

_left_with: list[FrameType] = []  # frames that were asked by another thread
_MOST_LEFT = 8


def frames(skip: int = 1) -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame that is the user's own code."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def call_frame(frame: FrameType | None) -> FrameType | None:
    """The frame of the module call around a hook; its `kwargs` are those of the call."""
    code = _call_code()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


@functools.cache
def _call_code() -> CodeType:
    from torch import nn

    return nn.Module._call_impl.__code__


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame of this thread, in a dictionary of our own.

    Before Python 3.13 asking a function's frame leaves a snapshot with it, which keeps a batch alive
    that the function has let go of long ago. It is emptied, unless somebody else may want it. A
    function that calls locals() is not asked: what it got from there is that very snapshot, and would grow.
    """
    if _is_snapshot(frame.f_code) and _asks_for_locals(frame.f_code):
        return {}
    variables = frame.f_locals
    found = dict(variables)
    # Three references: the frame's, ours, and the one to the function that counts.
    if _is_snapshot(frame.f_code) and sys.getrefcount(variables) <= 3 and variables.keys() <= _names(frame.f_code):
        variables.clear()
    return found


def locals_elsewhere(frame: FrameType, *, lasting: bool = False) -> dict[str, Any]:
    """The variables of a frame that another thread runs, which keeps its snapshot; of a `lasting` one until
    `let_go_of_snapshots`.

    Before Python 3.13 a thread under a trace function (ours, a debugger's) takes its variables back from the
    snapshot after every line: if it were emptied in between, they would all be gone.
    """
    if not _is_snapshot(frame.f_code):
        return dict(frame.f_locals)
    if _asks_for_locals(frame.f_code):
        return {}
    if lasting and len(_left_with) < _MOST_LEFT and frame not in _left_with:
        _left_with.append(frame)
    return dict(frame.f_locals)


def let_go_of_snapshots() -> None:
    """In the thread that runs the frames, from time to time: what others left with them would keep alive what
    their functions have long let go of."""
    while _left_with:
        locals_of(_left_with.pop())


def _is_snapshot(code: CodeType) -> bool:
    return sys.version_info < (3, 13) and bool(code.co_flags & inspect.CO_OPTIMIZED)


@functools.lru_cache(maxsize=512)
def _asks_for_locals(code: CodeType) -> bool:
    if "locals" not in code.co_names and "vars" not in code.co_names:
        return False
    loads = [step for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    return any(step.argval in ("locals", "vars") for step in loads)  # and not an attribute of that name


def _names(code: CodeType) -> set[str]:
    """The variables of the function itself; exec() puts others into the snapshot and nowhere else."""
    return {*code.co_varnames, *code.co_cellvars, *code.co_freevars}


def is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(package_folder())


def place_of(frame: FrameType | None, module: str | None = None) -> Place:
    if frame is None:
        return Place(module=module)
    return place_at(frame.f_code.co_filename, frame.f_lineno, module)


# The very expression of a line that a frame is at.
def running_expression(code: CodeType, instruction: int) -> ast.expr | ast.AugAssign | None:
    """None where Python cannot tell, or the file is not the user's."""
    positions = getattr(code, "co_positions", None)  # Python 3.11 on
    tree = tree_of(code.co_filename) if positions is not None and is_user_file(code.co_filename) else None
    if tree is None or positions is None:
        return None
    span = next(itertools.islice(positions(), instruction // 2, None), None)
    for node in nodes_of(tree):
        if isinstance(node, ast.expr | ast.AugAssign) and span == _span(node):
            return node
    return None


def _span(node: ast.expr | ast.AugAssign) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


# A look whose result nobody takes is meant to be read: it prints itself.
#
# `check_gradients(model)` as a line of its own in a script would otherwise be for nothing. Where the result is used
# (assigned, printed, asserted, returned) nothing is printed here, nor at a prompt and in the last line of a
# notebook's cell, where Python shows it.
Shown = TypeVar("Shown")
_IDLE = ("EXTENDED_ARG", "NOP", "CACHE")


def shown_where_bare(result: Shown) -> Shown:
    """Said by the function that was called; prints its result where the call is a statement of its own."""
    caller = sys._getframe(1).f_back
    if caller is not None and is_bare_call(caller):
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        if sys.stdout is not None:  # a terminal of another encoding gets what it can show
            sys.stdout.write(f"{result}\n".encode(encoding, "replace").decode(encoding))
    return result


def is_bare_call(frame: FrameType) -> bool:
    """Is what the call under way in this frame returns thrown away at once?

    Python compiles a call that is a statement of its own into the call and a POP_TOP; a prompt compiles it
    with one that prints in between.
    """
    # Caches lie behind a call, and the frame may point at one of them.
    steps = [step for step in dis.get_instructions(frame.f_code) if step.opname not in _IDLE]
    here = max((at for at, step in enumerate(steps) if step.offset <= frame.f_lasti), default=None)
    if here is None or here + 1 == len(steps):
        return False
    return steps[here].opname.startswith("CALL") and steps[here + 1].opname == "POP_TOP"
