"""Means of nothing, the spread of a single value, products with a factor of 0, normalization without eps."""

from __future__ import annotations

import ast
import re
from typing import TypeGuard

from torch_debugger.checks.explainers.blame import shape_text
from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import negatives_of, small_number, zeros_of
from torch_debugger.checks.explainers.nonfinite.written import op_of, renamed

_MEANS = ("mean", "nanmean", "median", "nanmedian", "std", "var", "kl_div")
_EPS_OF_ZERO = re.compile(r"\beps\s*=\s*0(?:\.0*)?(?=\s*[,)])")


def explain_empty(case: Case) -> Story | None:
    """The mean of nothing, of whatever op takes one."""
    operands, is_mean = case.origin.operands, case.op in _MEANS or case.op.endswith(("_loss", "_entropy"))
    empty = [index for index, operand in enumerate(operands) if operand.dtype and not operand.elements]
    if not empty or case.backward or not is_mean:
        return None
    index = empty[0]
    name, shape = case.name(index), shape_text(case.operand(index).shape)
    proof, why = f"because {name} is empty, of shape {shape}", "The mean of nothing is 0 / 0, which is NaN."
    node, operand = case.written.node, case.node(index)
    if case.op != "mean" or operand is None or not _is_of_all(node):
        fix = f"Leave the step out where {name} is empty: `if {case.bare_name(index)}.numel():`."
        return Story(proof, why, fix)
    text = case.written.primary(operand)
    quotient = f"{text}.sum() / max({text}.numel(), 1)"
    quotient = quotient if case.written.stands_alone(node) else f"({quotient})"
    told, edit = case.told([(case.written.span(node), quotient)])
    return Story(proof, why, f"{told}: it is 0 where nothing was selected.", edit)


def _is_of_all(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """A mean over no dimension in particular."""
    return isinstance(node, ast.Call) and len(op_of(node)[1]) == 1 and not node.keywords


def explain_spread(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if case.backward:
        return _of_equal_values(case)
    dim = case.number("dim") if case.number("dim") is not None else case.number()
    inside = dim is not None and -len(operand.shape) <= dim < len(operand.shape)
    single = operand.shape[int(dim)] == 1 if dim is not None and inside else operand.elements == 1
    if not single:
        return None
    along = f" along dimension {int(dim)}" if dim is not None and inside else ""
    proof = f"because {name} of shape {shape_text(operand.shape)} has one value{along}"
    why = f"{case.op} divides by n - 1, which is 0 for one value: 0 / 0 is NaN."
    last = "or leave the last, smaller batch out: `DataLoader(..., drop_last=True)`"
    if "unbiased" in case.written.code:
        return Story(proof, why, f"Pass `correction=0` instead of `unbiased`, {last}.")
    told, edit = case.with_keyword("correction=0", 2)  # the third could be `unbiased`
    return Story(proof, why, f"{told}, {last}.", edit)


def _of_equal_values(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if operand.low != operand.high or not operand.elements or case.op != "std":
        return None
    why = "The slope of std is (x - mean) / std, which is 0 / 0 where all values are equal."
    proof, node = f"because all {operand.elements:,} values of {name} are equal", case.written.node
    if not isinstance(node, ast.Call):
        return Story(proof, why, "Take the root of a variance that cannot be 0: `(x.var() + 1e-8).sqrt()`.")
    variance = renamed(case.written, node, "std", "var")
    told, edit = case.told([(case.written.span(node), f"({variance} + {small_number(operand)}).sqrt()")])
    return Story(proof, why, f"{told}.", edit)


def explain_product(case: Case) -> Story | None:
    operand = case.operand()
    if not case.backward or not operand.zeros:
        return None
    proof = f"because {zeros_of(operand, case.name())}"
    why = "The slope of a product by one factor is the product divided by it, which is 0 / 0 for a factor of 0."
    if operand.negatives:
        return Story(proof, why, f"Keep the factors in {case.name()} away from 0.")
    told, edit = case.with_method(0, f".clamp_min({small_number(operand)})")
    return Story(proof, why, f"{told}.", edit)


def explain_normalization(case: Case) -> Story | None:
    """layer_norm and its like with eps=0: a variance of 0 is divided by."""
    if not case.backward and (story := _of_running_variance(case)) is not None:
        return story
    if case.number("eps") != 0 and not _EPS_OF_ZERO.search(case.written.code):
        return None
    why = f"{case.op} divides by sqrt(variance + eps): where all values are equal, that is 0 / 0."
    changed = _EPS_OF_ZERO.sub("eps=1e-5", case.written.code)
    edit = case.written.edit([((0, len(case.written.code)), changed)])
    return Story("because its eps is 0", why, "Give it `eps=1e-5`, the default.", edit)


def _of_running_variance(case: Case) -> Story | None:
    """In eval mode batch_norm divides by the root of a variance that was kept, not measured."""
    kept = [held for held in case.origin.operands if held.parameter.endswith("running_var") and held.negatives]
    if not kept:
        return None
    why = "In eval mode batch_norm divides by sqrt(running_var + eps); the root of a negative number is NaN."
    fix = (
        "Give the layer a `momentum` between 0 and 1 (0.1 is the default): a larger one overshoots, and "
        "`running_var` falls below 0."
    )
    return Story(f"because {negatives_of(kept[0], f'`{kept[0].parameter}`')}", why, fix)
