"""view of a tensor that was reordered: its elements no longer lie in memory in the order of its dimensions."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text
from torch_debugger.checks.explainers.calls import parse_expression, rewritten
from torch_debugger.checks.explainers.statements import statement_at, written_call
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.layouts import ViewEvidence


def explain_memory_order(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.view
    if fact is None:
        return None
    wanted = _as_reshape(fact.expression)
    shape = f" of shape {shape_text(fact.shape)}" if fact.shape is not None else ""
    return Blame(
        message=f"`{fact.expression}` at {place_text(crash.place)} cannot be a view: `{fact.tensor}`{shape} is "
        f"not contiguous{_origin(fact)}.",
        why="view never copies, so it needs the elements in memory in the order of the dimensions it joins; "
        "permute, transpose, expand and channels_last give the dimensions another order than the memory has.",
        fix=f"Let it copy where it must: write `{wanted}` instead of `{fact.expression}` at "
        f"{place_text(crash.place)}.",
        where=crash.place,
        evidence=_evidence(crash, fact),
        confidence=0.98 if fact.shape is not None else 0.9,
        edit=_edit(statement_at(crash, crash.place).whole, fact.expression, wanted),
    )


def _as_reshape(expression: str) -> str:
    """x.reshape(b, -1) for x.view(b, -1): what copies where it must."""
    node = parse_expression(expression)
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    node.func.attr = node.func.attr.replace("view", "reshape")
    return ast.unparse(node)


def _edit(whole: Place, expression: str, wanted: str) -> Edit | None:
    """One of the views in the call as it is written: the one whose change gives what is wanted."""
    call = written_call(whole.code or "", expression) or ""
    for match in re.finditer(r"\bview(?=_as|\()", call):
        changed = f"{call[: match.start()]}reshape{call[match.end() :]}"
        node = parse_expression(f"({changed})")
        if node is not None and ast.unparse(node) == wanted:
            return rewritten(whole, call, changed)
    return None


def _origin(fact: ViewEvidence) -> str:
    if fact.made.line:
        return f" since `{fact.operation}` at {place_text(fact.made)}"
    if fact.operation and fact.operation != fact.tensor:
        return f", because of `{fact.operation}`"
    return ": it is in the channels_last format" if fact.channels_last and not fact.operation else ""


def _evidence(crash: CrashFact, fact: ViewEvidence) -> dict[str, float | str]:
    told: dict[str, float | str] = {}
    if fact.shape is not None:
        told[fact.tensor] = f"{shape_text(fact.shape)}, not contiguous"
    if fact.asked is not None:
        told["asked"] = shape_text(fact.asked)
    if fact.made.line:
        told["reordered"] = line_text(fact.made)
    return told | {"line": line_text(crash.place)}
