"""The line that makes a DataLoader, and the same line with another argument."""

from __future__ import annotations

import ast

from torch_debugger.records import Edit, Place


def with_keyword(place: Place, keyword: str, value: str) -> Edit | None:
    """`DataLoader(data, 32)` -> `DataLoader(data, 32, shuffle=True)`; None for longer calls."""
    code = place.code
    call = _only_loader(code)
    if call is None or place.file is None or place.line is None or code is None or not code.isascii():
        return None
    given = next((word.value for word in call.keywords if word.arg == keyword), None)
    if given is not None:
        after = code[: given.col_offset] + value + code[given.end_col_offset :]
    else:
        end = (call.end_col_offset or 0) - 1
        after = f"{code[:end]}, {keyword}={value}{code[end:]}"
    return Edit(place.file, place.line, code, after)


def _only_loader(code: str | None) -> ast.Call | None:
    try:
        tree = ast.parse(code or "")
    except SyntaxError:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    found = [call for call in calls if ast.unparse(call.func).endswith("DataLoader")]
    return found[0] if len(found) == 1 else None
