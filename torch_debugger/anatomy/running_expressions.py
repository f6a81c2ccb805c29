"""The very expression of a line that a frame is at."""

from __future__ import annotations

import ast
import itertools
from types import CodeType

from torch_debugger.anatomy.sources import is_user_file, nodes_of, tree_of


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
