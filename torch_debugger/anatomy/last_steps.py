"""The line that takes the last step of what a call gave: out[:, -1] after out, _ = self.rnn(x)."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.records import Place


def last_step_taken(call: Place) -> Place:
    """The first such line from the call on, in its function; the call itself where there is none."""
    tree = tree_of(call.file) if call.file else None
    if tree is None or call.file is None or call.line is None:
        return call
    parts = ast.walk(function_around(tree, call.line))
    lines = [part.lineno for part in parts if isinstance(part, ast.Subscript) and _takes_last(part.slice)]
    later = [line for line in lines if line >= call.line]
    return place_at(call.file, min(later), call.module) if later else call


def _takes_last(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    begins = [part.lower if isinstance(part, ast.Slice) else part for part in parts]
    return any(part is not None and ast.unparse(part) == "-1" for part in begins)
