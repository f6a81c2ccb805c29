"""Division by 0: a / b, 1 / b, remainders, and the angle of a point at the origin."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.stable_forms import stable_form
from torch_debugger.checks.explainers.nonfinite.wording import number, size_of, small_number, zeros_of
from torch_debugger.checks.explainers.nonfinite.written import op_of
from torch_debugger.records import Edit, Operand


def explain_quotient(case: Case) -> Story | None:
    index = _divisor(case)
    if index is None:
        return _by_number(case)
    divisor, name = case.operand(index), case.name(index)
    if divisor.zeros:
        proof = f"because {zeros_of(divisor, name)}"
    elif _is_tiny(case, index):
        proof = f"because {name} goes down to {number(divisor.low)}"
    else:
        return None
    told, edit = stable_form(case.written) or _guarded(case, index, divisor)
    return Story(proof, _mathematics(case, divisor), f"{told}.", edit)


def _divisor(case: Case) -> int | None:
    """Which operand is divided by; None where a plain number is."""
    if len(case.origin.operands) > 1:
        return 1
    node = case.written.node
    if case.op == "reciprocal" or node is None:
        return 0 if case.op == "reciprocal" or case.number() != 0 else None
    given = op_of(node)[1]
    return 0 if len(given) > 1 and case.node(0) is given[1] else None


def _is_tiny(case: Case, index: int) -> bool:
    """So small that the quotient leaves the dtype."""
    divisor, dividend = case.operand(index), case.operand(1 - index)
    size = size_of(dividend) if dividend.elements and index == 1 else 1.0
    return divisor.low > 0 and divisor.limit > 0 and size > divisor.low * divisor.limit


def _mathematics(case: Case, divisor: Operand) -> str:
    dividend = case.operand(0) if len(case.origin.operands) > 1 else None
    if case.op == "remainder":
        return "The remainder of a division by 0 is NaN."
    if not divisor.zeros:
        return (
            f"A quotient by a number that small leaves {divisor.dtype}, which ends at {number(divisor.limit)}."
        )
    if case.backward:
        return "The slope of a / b by b is -a / b**2, which is not finite at 0."
    if case.origin.made == "nan" and (dividend is None or dividend.zeros):
        return "0 / 0 is NaN."
    return "A number divided by 0 is inf, and 0 / 0 is NaN."


def _guarded(case: Case, index: int, divisor: Operand) -> tuple[str, Edit | None]:
    if divisor.dtype == "float16":  # the slope a / b**2 leaves float16 for every b that is small
        return f"Divide in float32: `{case.bare_name(index)}.float().clamp_min(1e-8)`", None
    if (root := _inside_root(case, index)) is not None:
        return case.told([case.written.with_sum(root, small_number(divisor))])
    if divisor.negatives:
        return case.with_sum(index, small_number(divisor))
    return case.with_method(index, f".clamp_min({small_number(divisor)})")


def _inside_root(case: Case, index: int) -> ast.expr | None:
    """What a divisor is the root of: behind the root a clamp is too late, its slope at 0 is inf already."""
    node = case.node(index)
    op, given = op_of(node) if node is not None else ("", [])
    return given[0] if op == "sqrt" and given and len(case.written.nodes) == 1 else None


def _by_number(case: Case) -> Story | None:
    if case.number() != 0:
        return None
    node = case.written.node
    given = f" `{case.written.source(op_of(node)[1][1])}`" if isinstance(node, ast.BinOp) else ""
    fix = f"Find out why{given or ' the number'} is 0 there; a count is kept above it by `max(n, 1)`."
    return Story(f"because its divisor{given} is 0", "A number divided by 0 is inf, and 0 / 0 is NaN.", fix)


def explain_angle_of_origin(case: Case) -> Story | None:
    first, second = case.operand(0), case.operand(1)
    if not case.backward or not (first.zeros and second.zeros):
        return None
    told, edit = case.with_sum(1, small_number(second))
    why = "The slope of atan2(y, x) by y is x / (x**2 + y**2), which is 0 / 0 where both are 0."
    proof = f"because {zeros_of(first, case.name(0))} and {zeros_of(second, case.name(1))}"
    return Story(proof, why, f"{told}.", edit)
