"""An exception in the user's dataset, seen from its frames: the line, the values in it, what was not there."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import place_at
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, value_of
from torch_debugger.probes.crash_source import failing_expression, statement_at
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.loading_scene import attribute_place
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.loading import MissingFile, Raised, Subscripted

_TEXT, _KEYS, _ENTRIES = 80, 5, 2000
_PLAIN = (int, float, bool, str, bytes, type(None))
_NOTHING = object()


def describe_raised(error: BaseException, frames: Sequence[Seen]) -> Raised:
    """What the innermost frame of the user's tells about the exception."""
    users = [seen for seen in frames if seen.user]
    if not users:
        return Raised(type(error).__name__, first_line(error))
    seen = users[-1]
    failing = failing_expression(seen.frame.f_code, seen.instruction)
    statement = _parse(failing) or _parse(statement_at(seen.file, seen.line)[1])
    return Raised(
        kind=type(error).__name__,
        message=first_line(error),
        place=place_at(seen.file, seen.line),
        function=seen.function,
        failing=failing,
        index=_asked_index(users),
        reach=dict(_reach(statement, seen)) if statement else {},
        subscripted=_subscripted(error, statement, seen) if statement else None,
        missing=_missing(error),
    )


def examine_entry(scene: Scene) -> Subscripted | None:
    """Where the user's own line asked a container for what it does not hold."""
    is_users = scene.innermost is not None and scene.innermost.user
    return describe_raised(scene.error, scene.frames).subscripted if is_users else None


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else ""


def _asked_index(users: Sequence[Seen]) -> int | None:
    """What the innermost __getitem__ of the user's was asked for."""
    for seen in reversed(users):
        code = seen.frame.f_code
        if code.co_name == "__getitem__" and code.co_argcount == 2:
            asked = seen.frame.f_locals.get(code.co_varnames[1])
            return asked if type(asked) is int else None
    return None


def _parse(text: str) -> ast.AST | None:
    for form in (text, f"{text}\n pass"):
        try:
            return ast.parse(form)
        except (SyntaxError, ValueError):
            continue
    return None


def _resolve(node: ast.AST, seen: Seen) -> Any:
    try:
        return value_of(node, seen.frame) if isinstance(node, ast.expr) else _NOTHING
    except UnknownValueError:
        return _NOTHING


def _reach(tree: ast.AST, seen: Seen) -> Iterator[tuple[str, str]]:
    """The largest parts of the expression that are plain values: path = 'a.png'."""
    for node in ast.iter_child_nodes(tree):
        value = _resolve(node, seen) if not isinstance(node, ast.Constant) else _NOTHING
        if is_one_of(value, _PLAIN):
            yield ast.unparse(node), repr(value)[:_TEXT]
        elif is_a(value, PurePath):
            yield ast.unparse(node), repr(os.fspath(value))[:_TEXT]
        elif not isinstance(node, ast.stmt) or not hasattr(node, "body"):
            yield from _reach(node, seen)


def _subscripted(error: BaseException, tree: ast.AST, seen: Seen) -> Subscripted | None:
    """The one entry the statement asks for that its container does not have."""
    if not isinstance(error, (KeyError, IndexError)):
        return None
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    pairs = [(node, _resolve(node.value, seen), _resolve(node.slice, seen)) for node in asked]
    lacking = [(node, container, key) for node, container, key in pairs if _lacks(container, key)]
    if len(lacking) != 1:
        return None
    node, container, key = lacking[0]
    keys = [repr(name)[:_TEXT] for name in list(container)[:_KEYS]] if type(container) is dict else []
    owner = _resolve(node.value.value, seen) if isinstance(node.value, ast.Attribute) else _NOTHING
    return Subscripted(
        container=ast.unparse(node.value),
        kind=kind_name(type(container)),
        size=len(container),
        key=repr(key)[:_TEXT],
        keys=", ".join(keys) + (", ..." if keys and len(container) > _KEYS else ""),
        place=attribute_place(type(owner), node.value.attr)  # type: ignore[attr-defined]
        if owner is not _NOTHING
        else place_at("", 0),
        near=_near(key, container) if type(container) is dict else "",
    )


def _near(key: Any, container: dict[Any, Any]) -> str:
    """'bird' for 'Bird '"""
    if type(key) is not str:
        return ""
    plain = {name.strip().casefold(): name for name in list(container)[:_ENTRIES] if type(name) is str}
    found = difflib.get_close_matches(key.strip().casefold(), list(plain), n=1, cutoff=0.75)
    return repr(plain[found[0]])[:_TEXT] if found else ""


def _lacks(container: Any, key: Any) -> bool:
    if type(container) is dict:
        return is_one_of(key, (int, str, tuple)) and key not in container
    sized = is_one_of(container, (list, tuple, str, torch.Tensor, numpy.ndarray)) and type(key) is int
    return sized and _is_array(container) and not -len(container) <= key < len(container)


def _is_array(container: Any) -> bool:
    return getattr(container, "ndim", 1) > 0


def _missing(error: BaseException) -> MissingFile | None:
    path = error.filename if isinstance(error, FileNotFoundError) else None
    text = str.__str__(path) if is_a(path, str) else str(path) if is_a(path, PurePath) else ""
    if not text:
        return None
    folder, name = os.path.split(text)
    exists = os.path.isdir(folder or ".")
    names = (
        [entry.name for _, entry in zip(range(_ENTRIES), os.scandir(folder or "."), strict=False)]
        if exists
        else []
    )
    numbered = sorted(entry for entry in names if _digits(entry) == _digits(name))  # 007 is not meant by 008
    near = difflib.get_close_matches(name, numbered, n=1, cutoff=0.75)
    return MissingFile(text, exists, len(names), near[0] if near else "", not os.path.isabs(text))


def _digits(name: str) -> str:
    return re.sub(r"\D", "", name)
