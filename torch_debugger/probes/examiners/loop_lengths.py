"""How often a line is reached: the batches and epochs that the loops around it go through."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch_debugger.anatomy.sources import covers
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, value_of
from torch_debugger.probes.examiners.loading_scene import length_of
from torch_debugger.probes.examiners.loading_use import for_statements, loader_in
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, statement_place
from torch_debugger.records import Place

Counted = tuple[dict[str, int], Any]  # batches and epochs, and the loader itself


def counted_loops(scene: Scene) -> Counted:
    """The innermost loop through a loader, and the next `range(...)` around it."""
    numbers: dict[str, int] = {}
    found: Any = None
    for seen in reversed(scene.frames):
        for loop in for_statements(seen) if seen.user else ():
            _, loader = next(loader_in(loop.iter, seen), ("", None))
            if found is None and loader is not None and (batches := length_of(loader)):
                found, numbers["batches"] = loader, batches
            elif found is not None and (epochs := _range_length(loop.iter, seen)):
                return {**numbers, "epochs": epochs}, found
    return numbers, found


def _range_length(node: ast.expr, seen: Seen) -> int:
    """Of range(epochs) and range(1, epochs + 1), also inside tqdm(...); 0 for anything else."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) not in ("range", "trange") and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or not node.args or node.keywords:
        return 0
    given = [_value(part, seen) for part in node.args]
    return len(range(*given)) if all(type(number) is int for number in given) else 0


def _value(node: ast.expr, seen: Seen) -> Any:
    """Also of an attribute that a class keeps for its objects: class Settings: epochs = 3"""
    if isinstance(node, ast.Attribute):
        return inspect.getattr_static(_value(node.value, seen), node.attr, None)
    if isinstance(node, ast.Name):
        return seen.frame.f_locals.get(node.id, seen.frame.f_globals.get(node.id))
    try:
        return value_of(node, seen.frame)
    except UnknownValueError:
        return None


def frame_around(scene: Scene, place: Place) -> Seen | None:
    """The living frame of the function that holds a line."""
    users = [seen for seen in reversed(scene.frames) if seen.user and seen.file == place.file]
    return next((seen for seen in users if place.line and _holds(seen, place.line)), None)


def _holds(seen: Seen, line: int) -> bool:
    function = Scope(seen).function
    return covers(function, line) if not isinstance(function, ast.Module) else True


def name_in(seen: Seen | None, value: Any) -> str:
    """What a frame calls an object."""
    names = {**seen.frame.f_globals, **seen.frame.f_locals} if seen is not None and value is not None else {}
    return next((name for name, held in names.items() if held is value and not name.startswith("_")), "")


def argument_made(seen: Seen | None, place: Place, keywords: tuple[str, ...]) -> Place:
    """Where the name was assigned that a call at a place gives for one of these keywords."""
    scope = Scope(seen) if seen is not None else None
    statements = (
        [one for one in scope.statements() if covers(one, place.line or 0)] if scope is not None else []
    )
    words = [
        word.value for one in statements for word in ast.walk(one)
        if isinstance(word, ast.keyword) and word.arg in keywords
    ]  # fmt: skip
    for node in words:
        if scope is not None and isinstance(node, ast.Name):
            made = scope.assignment_before(node.id, place.line or 0)
            return statement_place(scope.file, made.lineno) if isinstance(made, ast.Assign) else Place()
    return Place()
