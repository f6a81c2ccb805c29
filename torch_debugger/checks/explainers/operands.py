"""An operand of the expression that crashed, written in another form."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.calls import rewritten, with_operand
from torch_debugger.checks.explainers.expressions import Line
from torch_debugger.checks.explainers.statements import statement_at
from torch_debugger.records import CrashFact, Edit


def change_operand(
    crash: CrashFact, line: Line, node: ast.expr, operand: str, form: str
) -> tuple[str, Edit | None]:
    """The expression with `form` in the operand's place, as text and as an edit."""
    written, told = line.written(node), with_operand(line.source(node), operand, form)
    changed = with_operand(written, operand, form)
    return told, rewritten(statement_at(crash, crash.place).whole, written, changed)
