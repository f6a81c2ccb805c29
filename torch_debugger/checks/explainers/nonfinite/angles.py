"""acos, asin, atanh, erfinv at 1 and -1 and beyond; acosh at 1 and below."""

from __future__ import annotations

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import near_one, number

_SLOPES = {
    "acos": "-1 / sqrt(1 - x**2)",
    "asin": "1 / sqrt(1 - x**2)",
    "atanh": "1 / (1 - x**2)",
    "erfinv": "sqrt(pi) / 2 * exp(erfinv(x)**2)",
}


def explain_angle(case: Case) -> Story | None:
    """Inside -1 and 1 these are finite, and so are their slopes."""
    operand, name = case.operand(), case.name()
    if not operand.elements or (operand.low > -1 and operand.high < 1):
        return None
    if case.op in ("acos", "asin") and not case.backward and operand.low >= -1 and operand.high <= 1:
        return None
    beyond = operand.low < -1 or operand.high > 1
    step = near_one(operand)
    told, edit = case.with_method(0, f".clamp(-1 + {step}, 1 - {step})")
    proof = f"because {name} goes from {number_near_one(operand.low)} to {number_near_one(operand.high)}"
    return Story(proof, _mathematics(case, beyond), f"{told}.", edit)


def _mathematics(case: Case, beyond: bool) -> str:
    if beyond and not case.backward:
        return f"{case.op} is defined from -1 to 1; beyond that it is NaN."
    if case.backward:
        return f"The slope of {case.op}(x) is {_SLOPES[case.op]}, which is inf at 1 and -1."
    return f"{case.op}(1) is inf and {case.op}(-1) is -inf."


def number_near_one(value: float) -> str:
    """1.0000001, where four digits would say 1"""
    return f"{value:.8g}" if 0 < abs(abs(value) - 1) < 1e-3 else number(value)


def explain_acosh(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if not operand.elements or operand.low > 1 or (operand.low == 1 and not case.backward):
        return None
    told, edit = case.with_method(0, f".clamp_min(1 + {near_one(operand)})")
    why = "acosh is defined from 1 on; below it is NaN, and at 1 its slope 1 / sqrt(x**2 - 1) is inf."
    return Story(f"because {name} goes down to {number_near_one(operand.low)}", why, f"{told}.", edit)
