"""Bad values that where() or masked_fill leaves out of the forward pass, but not out of the backward pass."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.written import op_of
from torch_debugger.records import Edit

# What an op may be given in place of a bad value, far from every edge.
_SAFE = dict.fromkeys(("exp", "expm1", "acos", "asin", "atanh", "erfinv"), "0.0") | {"logit": "0.5"}


def explain_selected(case: Case, story: Story | None) -> Story:
    """`story` tells what is wrong with the op's values where nothing selects among them."""
    chosen = case.origin.selected_by
    why = (
        f"`{chosen}` left those values out of the forward pass, but not out of the backward pass: the gradient "
        "there is 0 times a slope that is not finite, which is NaN."
    )
    told, edit = _safe_before(case) or ("", None)
    if not told and story is not None and story.edit is not None:
        told, edit = story.fix.partition(". ")[0].rstrip("."), story.edit
    index = _divisor(case)
    told = (
        told or f"Give {case.shown()} `torch.where(ok, {case.bare_name(index)}, {_SAFE.get(case.op, '1.0')})`"
    )
    proof = story.proof if story else f"because `{chosen}` comes after it"
    return Story(
        proof, f"{story.why} {why}" if story else why, f"{told}: make the input safe before the op.", edit
    )


def _divisor(case: Case) -> int:
    """The operand to make safe: of a quotient, what it divides by."""
    return 1 if case.op in ("div", "xlogy") and len(case.origin.operands) > 1 else 0


def _safe_before(case: Case) -> tuple[str, Edit | None] | None:
    """`torch.where(m, torch.sqrt(x), 0.0)` with `torch.sqrt(torch.where(m, x, 1.0))` in it."""
    node, operand = case.written.node, case.node(_divisor(case))
    if node is None or operand is None or len(case.written.nodes) > 1:
        return None
    for holder in case.written.holders(node):
        op, given = op_of(holder)
        if op != "where" or len(given) != 3 or not isinstance(holder, ast.Call):
            continue
        branches = [any(inner is node for inner in ast.walk(branch)) for branch in given[1:]]
        if branches.count(True) == 1 and case.written.source(holder.func) == "torch.where":
            return _with_where(case, operand, given[0], taken=branches[0])
    return None


def _with_where(case: Case, operand: ast.expr, mask: ast.expr, taken: bool) -> tuple[str, Edit | None]:
    start, end = case.written.span(operand)
    value, safe = case.written.code[start:end].strip(), _SAFE.get(case.op, "1.0")
    kept = f"{value}, {safe}" if taken else f"{safe}, {value}"
    text = f"torch.where({case.written.source(mask)}, {kept})"
    return case.told([((start, end), text)])
