"""Where a loader's data comes from: the statements that made what its dataset is built of."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.assignments import assignment_of
from torch_debugger.anatomy.sources import nodes_of, tree_of
from torch_debugger.records import Place

_MOST = 12  # statements


def statements_behind(made: Place, names: tuple[str, ...]) -> tuple[Place, ...]:
    """From the line that makes the loader back, the nearest first; `names` are variables of its dataset.

    Where the dataset has no name, the variables in the call of DataLoader are followed, if it is the only one.
    """
    if made.file is None or made.line is None:
        return ()
    waiting = [(name, made.line) for name in names or _given(made.file, made.line)]
    found: dict[int, Place] = {}
    while waiting and len(found) < _MOST:
        name, line = waiting.pop(0)
        assigned = assignment_of(made.file, line, name)
        place = assigned.place if assigned is not None else Place()
        if place.line is not None and place.line < line and place.line not in found:
            found[place.line] = place
            waiting += [(each, place.line) for each in _read(place.code or "")]
    return tuple(found.values())


def _given(file: str, line: int) -> list[str]:
    tree = tree_of(file)
    calls = [
        node
        for node in (nodes_of(tree) if tree else ())
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or line)
    ]
    makers = [call for call in calls if ast.unparse(call.func).endswith("DataLoader") and call.args]
    return _names(makers[0].args[0]) if len(makers) == 1 else []


def _read(code: str) -> list[str]:
    """The names on the right side of an assignment."""
    try:
        statement = ast.parse(code).body[0]
    except (SyntaxError, IndexError):
        return []
    value = statement.value if isinstance(statement, ast.Assign) else None
    return _names(value) if value is not None and not isinstance(value, ast.Lambda) else []


def _names(value: ast.expr) -> list[str]:
    return list(dict.fromkeys(node.id for node in ast.walk(value) if isinstance(node, ast.Name)))
