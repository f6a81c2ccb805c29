"""exp, expm1, exp2, sinh, cosh of numbers that are too large."""

from __future__ import annotations

import math

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.stable_forms import stable_form
from torch_debugger.checks.explainers.nonfinite.wording import number, size_of
from torch_debugger.checks.explainers.nonfinite.written import op_of
from torch_debugger.records import Operand

# Far below the bound, so that the square of such a value is finite too, and the square of its gradient.
_MOST = {"float16": 10, "bfloat16": 20, "float32": 20, "float64": 170}


def explain_exponential(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    bound = exponent_bound(operand, case.op)
    both = case.op in ("sinh", "cosh")
    reached = size_of(operand) if both else operand.high
    if bound is None or reached <= bound:
        return None
    proof = f"because {name} goes up to {number(reached)}" + (" in size" if both else "")
    why = f"{case.op}(x) leaves {operand.dtype} ({number(operand.limit)}) above x = {number(bound)}."
    if (stable := stable_form(case.written)) is not None:
        return Story(proof, why, f"{stable[0]}: it cannot overflow.", stable[1])
    if _is_summed(case):
        told = f"Where the log of this sum is taken, use `torch.logsumexp({case.bare_name()}, dim)`"
        return Story(proof, why, f"{told}; where it is divided by, `torch.softmax`. Neither overflows.")
    most = math.floor(_MOST.get(operand.dtype, 10) / (math.log(2) if case.op == "exp2" else 1))
    told, edit = case.with_method(0, f".clamp(-{most}, {most})" if both else f".clamp(max={most})")
    grown = "a learning rate that is too high, or inputs that are not scaled"
    return Story(proof, why, f"{told}, and find out why {name} grew so large: {grown}.", edit)


def _is_summed(case: Case) -> bool:
    """A clamp before a sum would take the slope from its largest parts."""
    node = case.written.node
    holders = case.written.holders(node) if node is not None and case.op == "exp" else []
    return any(op_of(holder)[0] == "sum" and op_of(holder)[1][0] is node for holder in holders)


def exponent_bound(operand: Operand, op: str) -> float | None:
    """The largest x whose exp(x) the dtype can hold: 88.72 for float32, 11.09 for float16."""
    if operand.limit <= 1 or not operand.elements:
        return None
    return round(math.log2(operand.limit) if op == "exp2" else math.log(operand.limit), 2)
