"""log, log1p, xlogy, logit at 0 and below."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.stable_forms import stable_form
from torch_debugger.checks.explainers.nonfinite.wording import (
    is_rounding,
    near_one,
    negatives_of,
    number,
    small_number,
    zeros_of,
)
from torch_debugger.checks.explainers.nonfinite.written import op_of
from torch_debugger.records import Edit


def explain_log(case: Case) -> Story | None:
    index = 1 if case.op == "xlogy" and len(case.origin.operands) > 1 else 0
    operand, name = case.operand(index), case.name(index)
    if operand.negatives and (case.origin.made == "nan" or not operand.zeros) and not case.backward:
        return _of_negatives(case, index)
    if not operand.zeros:
        return None
    log = "log" if case.op == "xlogy" else case.op
    why = f"The slope of {log}(x) is 1 / x, which is inf at 0." if case.backward else f"{log}(0) is -inf."
    proof, stable = f"because {zeros_of(operand, name)}", stable_form(case.written)
    if stable is not None:
        return Story(proof, why, f"{stable[0]}: it never takes the log of 0.", stable[1])
    told, edit = _clamped(case, index)
    return Story(proof, why, f"{told}.{_better(case, index)}", edit)


def _of_negatives(case: Case, index: int) -> Story:
    operand, name = case.operand(index), case.name(index)
    proof, why = f"because {negatives_of(operand, name)}", "The log of a negative number is NaN."
    if is_rounding(operand):
        told, edit = _clamped(case, index)
        return Story(proof, f"{why} So close to 0 it is likely to be rounding.", f"{told}.", edit)
    fix = (
        f"Find out what makes {name} negative: there is no log of it. A number that must be positive comes out "
        "of `F.softplus(...)` or `torch.exp(...)`."
    )
    return Story(proof, why, fix)


def _clamped(case: Case, index: int) -> tuple[str, Edit | None]:
    """With the log of 1 - p beside the log of p, both: they fail at the two ends of the same number."""
    method = f".clamp_min({small_number(case.operand(index))})"
    other = _complement(case, index)
    if other is None:
        return case.with_method(index, method)
    told, _ = case.with_method(index, method)
    held = [case.node(index, node) for node in case.written.nodes]
    changes = [case.written.with_method(node, method) for node in [*held, other] if node is not None]
    return f"{told}, and the same for `{case.written.source(other)}`", case.written.edit(changes)


def _complement(case: Case, index: int) -> ast.expr | None:
    """1 - p, where p is logged and 1 - p is too; or the other way round."""
    node, trees = case.node(index), case.written.trees
    logs = [op_of(held)[1][0] for tree in trees for held in ast.walk(tree) if op_of(held)[0] == "log"]
    if node is None or len(logs) != 2:
        return None
    other = logs[1] if logs[0] is node else logs[0]
    first, second = ast.unparse(node), ast.unparse(other)
    return other if _is_complement(first, second) or _is_complement(second, first) else None


def _is_complement(text: str, other: str) -> bool:
    return other in (f"1 - {text}", f"1.0 - {text}")


def _better(case: Case, index: int) -> str:
    """What may be meant instead, by the operand's range and what it is called."""
    name = case.name(index)
    if case.op == "xlogy":
        return f" Where {name} is 0 by right, its weight should be 0 too."
    if _complement(case, index) is not None:
        return " Where the probability is a sigmoid's, `F.binary_cross_entropy_with_logits` takes its input."
    if case.operand(index).high > 1:
        return f" If {name} holds counts, `torch.log1p` is made for them." if case.operand(index).name else ""
    return f" If {name} comes out of a softmax or a sigmoid, use `F.log_softmax` or `F.logsigmoid` instead."


def explain_log1p(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if operand.low > -1 or not operand.elements:
        return None
    stable = stable_form(case.written)
    told, edit = stable or case.with_method(0, f".clamp_min(-1 + {near_one(operand)})")
    why = "log1p(x) is log(1 + x): -inf at -1, NaN below; its slope 1 / (1 + x) is inf at -1."
    return Story(f"because {name} goes down to {number(operand.low)}", why, f"{told}.", edit)


def explain_logit(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if not operand.elements or (operand.low > 0 and operand.high < 1):
        return None
    proof = f"because {name} goes from {number(operand.low)} to {number(operand.high)}"
    why = "logit(p) is log(p / (1 - p)): -inf at 0, inf at 1, NaN beyond them."
    told, edit = case.with_keyword(f"eps={near_one(operand)}", 1)
    return Story(proof, why, f"{told}: it keeps the input that far from 0 and 1.", edit)
