"""Arithmetic with Inf: 0 * inf, inf - inf, inf / inf."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import share, zeros_of
from torch_debugger.records import Edit

_SUMS = {"sub": "inf - inf", "add": "inf + -inf", "div": "inf / inf"}
_TOTALS = ("sum", "mean", "cumsum")


def explain_infinite(case: Case) -> Story | None:
    """An op that was given Inf on purpose, a mask for instance, and made NaN of it."""
    if case.origin.made != "nan" or any(operand.nans for operand in case.origin.operands):
        return None
    if case.op == "mul":
        return _zero_times(case)
    infinite = [index for index, operand in enumerate(case.origin.operands) if operand.infs]
    told = " and ".join(
        share(case.operand(index).infs, case.operand(index), case.name(index), "Inf") for index in infinite
    )
    fix = "Put the -inf of a mask in last, just before the softmax, or mask by a finite number such as -1e9."
    if case.op in _SUMS and len(infinite) == 2:
        return Story(f"because {told}", f"{_SUMS[case.op]} is NaN.", fix)
    if case.op in _TOTALS and infinite:
        return Story(f"because {told}", "A sum over inf and -inf is NaN.", fix)
    return None


def _zero_times(case: Case) -> Story | None:
    pairs = [(0, 1), (1, 0)]
    for zero, infinite in pairs:
        first, second = case.operand(zero), case.operand(infinite)
        if first.zeros and second.infs:
            proof = f"because {zeros_of(first, case.name(zero))} and "
            proof += share(second.infs, second, case.name(infinite), "Inf")
            told, edit = _filled(case, zero, infinite)
            return Story(proof, "0 * inf is NaN: a product with 0 does not remove an Inf.", told, edit)
    return None


def _filled(case: Case, zero: int, infinite: int) -> tuple[str, Edit | None]:
    """`x * mask` -> `x.masked_fill(mask == 0, 0.0)`, where the mask holds nothing but 0 and 1."""
    mask, nodes = case.operand(zero), (case.node(zero), case.node(infinite))
    names = case.bare_name(zero), case.bare_name(infinite)
    text = f"{names[1]}.masked_fill({names[0]} == 0, 0.0)"
    is_mask = mask.dtype == "bool" or (not mask.limit and (mask.low, mask.high) == (0, 1))
    whole = case.written.node
    if not is_mask or None in nodes or not isinstance(whole, ast.BinOp) or nodes[1] is None:
        return f"Select instead of multiplying: `{text}`.", None
    text = case.written.with_method(nodes[1], f".masked_fill({names[0]} == 0, 0.0)")[1]
    told, edit = case.told([(case.written.span(whole), text)])
    return f"{told}.", edit
