"""The line that calls a model: what it is given there, and the same line with something else."""

from __future__ import annotations

import ast

from torch_debugger.records import Edit, Place


def only_argument(code: str | None, root: str) -> str | None:
    """`images` for loss = criterion(net(images), y); None where the line is not a plain call of the model."""
    call = _call(code, root)
    return ast.unparse(call.args[0]) if call is not None else None


def with_argument(place: Place, root: str, form: str) -> Edit | None:
    """The line with the model's first argument put into a form: "{} / 255"."""
    call = _call(place.code, root)
    if call is None or place.file is None or place.line is None or not place.code:
        return None
    argument = call.args[0]
    start, end = argument.col_offset, argument.end_col_offset or 0
    written = place.code[start:end]
    if ast.unparse(argument) != written:  # bytes are not characters, or the line goes on
        return None
    simple = isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    changed = form.format(written if simple else f"({written})")
    return Edit(place.file, place.line, place.code, place.code[:start] + changed + place.code[end:])


def _call(code: str | None, root: str) -> ast.Call | None:
    try:
        tree = ast.parse(code or "")
    except SyntaxError:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    found = [call for call in calls if ast.unparse(call.func).rsplit(".", 1)[-1] == root]
    return found[0] if len(found) == 1 else None
