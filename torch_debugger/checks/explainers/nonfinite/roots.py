"""sqrt, rsqrt and powers that are no whole number: at 0 and below."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import (
    is_rounding,
    negatives_of,
    number,
    small_number,
    zeros_of,
)

_LOG_VARIANCE = re.compile(r"(?:^|[._])log_?var(?:iance)?s?$|log_?var", re.IGNORECASE)


def explain_root(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if operand.negatives and not case.backward:
        return _of_negatives(case, f"The {case.op} of a negative number is NaN.")
    if not operand.zeros or (case.op == "sqrt" and not case.backward):
        return None
    told, edit = case.with_sum(0, small_number(operand))
    return Story(f"because {zeros_of(operand, name)}", _slope(case), f"{told}.", edit)


def _slope(case: Case) -> str:
    if case.op == "rsqrt":
        return "rsqrt(x) is 1 / sqrt(x), which is inf at 0."
    return "The slope of sqrt(x) is 1 / (2 * sqrt(x)), which is inf at 0."


def _of_negatives(case: Case, why: str) -> Story:
    operand, name = case.operand(), case.name()
    proof = f"because {negatives_of(operand, name)}"
    if is_rounding(operand):
        told, edit = case.with_method(0, f".clamp_min({small_number(operand)})")
        return Story(proof, f"{why} So close to 0 it is likely to be rounding.", f"{told}.", edit)
    if case.op == "sqrt" and _LOG_VARIANCE.search(case.bare_name()):
        return _of_log_variance(case, proof, why)
    fix = f"Find out what makes {name} negative: it must not be, for a root. {_kept_positive(case)}"
    return Story(proof, why, fix)


def _kept_positive(case: Case) -> str:
    node = case.node()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return (
            "A variance taken as the difference of two means, mean(x**2) - mean(x)**2, is lost in rounding "
            "where the mean is large: use `torch.var` or `torch.std`."
        )
    if case.op == "pow":
        small = small_number(case.operand())
        return f"What may only be 0 or more is kept there by `F.softplus(...)` or `.clamp_min({small})`."
    return (
        "A variance is kept positive by `F.softplus(...)`; the deviation of a log-variance is "
        "`torch.exp(0.5 * log_var)`."
    )


def _of_log_variance(case: Case, proof: str, why: str) -> Story:
    why += f" {case.name()} is the log of a variance by its name, and that may be negative."
    node = case.written.node
    if not isinstance(node, ast.Call):
        return Story(proof, why, f"The deviation is `torch.exp(0.5 * {case.bare_name()})`.")
    operand = case.node()
    text = case.written.primary(operand) if operand is not None else case.bare_name()
    told, edit = case.told([(case.written.span(node), f"torch.exp(0.5 * {text})")])
    return Story(proof, why, f"{told}: that is the deviation.", edit if "torch." in case.written.code else None)


def explain_power(case: Case) -> Story | None:
    exponent = _exponent(case)
    operand, name = case.operand(), case.name()
    if exponent is None:
        return _slope_by_exponent(case)
    fractional = exponent != int(exponent)
    if fractional and operand.negatives and not case.backward:
        return _of_negatives(case, f"A negative number to the power {number(exponent)} is NaN.")
    if not operand.zeros or (exponent > 0 and not case.backward) or exponent >= 1:
        return None
    told, edit = case.with_sum(0, small_number(operand))
    power = number(exponent)
    slope = f"The slope of x ** {power} is {power} * x ** {number(exponent - 1)}, which is inf at 0."
    why = slope if case.backward else f"0 ** {power} is inf."
    if operand.negatives:
        return Story(
            f"because {zeros_of(operand, name)}", why, f"Keep {name} away from 0: it has values of both signs."
        )
    return Story(f"because {zeros_of(operand, name)}", why, f"{told}.", edit)


def _exponent(case: Case) -> float | None:
    """Of `x ** 0.5`; of `2 ** x`, where the tensor is the exponent, nothing is said here."""
    held = case.operand(1)
    if held.elements:
        return held.low if held.low == held.high else None
    first = case.node()
    node = case.written.node
    if isinstance(node, ast.BinOp) and first is node.right:
        return None
    return case.number() if case.number() is not None else case.number("exponent")


def _slope_by_exponent(case: Case) -> Story | None:
    """The slope of a ** b by b is a ** b * log(a)."""
    base = case.operand(0)
    if not case.backward or not base.negatives or not case.operand(1).elements:
        return None
    why = "The slope of a ** b by b is a ** b * log(a), and the log of a negative number is NaN."
    fix = f"Keep {case.name()} above 0, or let the exponent need no gradient: `{case.bare_name(1)}.detach()`."
    return Story(f"because {negatives_of(base, case.name())}", why, fix)
