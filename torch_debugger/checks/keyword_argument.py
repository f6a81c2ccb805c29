"""A line that makes something, with one more keyword in the call."""

from __future__ import annotations

import ast

from torch_debugger.records import Edit, Place


def with_keyword(place: Place, maker: str, keyword: str, value: str) -> Edit | None:
    """nn.Conv2d(3, 8, 3) -> nn.Conv2d(3, 8, 3, bias=False); None where the line is not that plain."""
    code = place.code or ""
    call = _only_call(code, maker)
    if call is None or place.file is None or place.line is None or call.lineno != call.end_lineno:
        return None
    if any(word.arg in (keyword, None) for word in call.keywords) or not code.isascii():
        return None
    end = (call.end_col_offset or 0) - 1
    comma = ", " if call.args or call.keywords else ""
    return Edit(place.file, place.line, code, f"{code[:end]}{comma}{keyword}={value}{code[end:]}")


def _only_call(code: str, maker: str) -> ast.Call | None:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] == maker]
    return found[0] if len(found) == 1 else None
