"""Rows of scores that a mask closes as a whole, and targets that it closes."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import share
from torch_debugger.records import Operand

_MINUS_INF = re.compile(
    r"""float\(\s*["']-inf(?:inity)?["']\s*\)|-\s*(?:torch|math|np|numpy)\.inf\b|-\s*float\(\s*["']inf["']\s*\)"""
)
_OF_ROWS = (
    "softmax", "softmin", "log_softmax", "gumbel_softmax", "logsumexp", "cross_entropy",
    "scaled_dot_product_attention", "multi_head_attention_forward",
)  # fmt: skip
_KINDS = {
    "log_softmax": "log_softmax subtracts the log of the sum of exp(x)",
    "logsumexp": "The slope of logsumexp is a softmax, and softmax divides exp(x) by its sum",
    "cross_entropy": "cross_entropy takes a log_softmax, which subtracts the log of the sum of exp(x)",
}


def explain_masked_row(case: Case) -> Story | None:
    if not case.origin.masked_row or not {case.op, case.origin.inner} & set(_OF_ROWS):
        return None
    index = _masked(case)
    name = case.name(index)
    kind = _KINDS.get(case.op, "softmax divides exp(x) by its sum over the row")
    why = f"{kind}; for a row of -inf that sum is 0, and the result is NaN."
    proof = f"because a row of {name} is -inf as a whole"
    low = "-1e4" if case.operand(index).dtype == "float16" else "-1e9"
    changed = _MINUS_INF.sub(low, case.written.code)
    advice = (
        f"Leave at least one place of each row open, or mask with a finite number (`{low}`) instead of -inf."
    )
    return Story(proof, why, advice, case.written.edit([((0, len(case.written.code)), changed)]))


def _masked(case: Case) -> int:
    """The operand that holds the -inf."""
    infinite = [index for index, operand in enumerate(case.origin.operands) if operand.infs]
    return infinite[-1] if infinite else 0


def explain_class_loss(case: Case) -> Story | None:
    """cross_entropy, nll_loss: a target whose class is masked, or no target that counts."""
    scores, targets = case.operand(0), case.operand(1)
    ignored = case.number("ignore_index")
    ignored = -100 if ignored is None else ignored
    if case.backward:
        return None
    if targets.elements and not targets.limit and targets.low == targets.high == ignored:
        return _of_nothing(case, targets, int(ignored))
    if not scores.infs or scores.nans or case.origin.made == "nan":
        return None
    closed = f"because {share(scores.infs, scores, case.name(0), '-inf')}"
    why = "The loss of a sample is minus the log-probability of its class: of a class at -inf that is inf."
    if (case.number("label_smoothing") or 0) > 0:
        why += " With `label_smoothing` every class counts, so that one at -inf is enough."
        return Story(closed, why, "Mask with a finite number such as -1e4, or leave `label_smoothing` out.")
    gathered = f"`{case.bare_name(0)}.gather(1, {case.bare_name(1)}[:, None])`"
    fix = f"Never mask the class that {case.name(1)} asks for. Where the two disagree, {gathered} is -inf."
    return Story(f"{closed} and a target's class is among them", why, fix)


def _of_nothing(case: Case, targets: Operand, ignored: int) -> Story:
    name, bare = case.name(1), case.bare_name(1)
    proof = f"because all {targets.elements:,} values of {name} are {ignored}, the `ignore_index`"
    why = "The loss is a mean over the targets that count; here none does, and 0 / 0 is NaN."
    node = case.written.node
    advice = f"Leave the step out where no target counts: `if ({bare} != {ignored}).any():`."
    if not isinstance(node, ast.Call) or any(word.arg in ("reduction", "weight") for word in node.keywords):
        return Story(proof, why, advice)
    if len(node.args) != 2:
        return Story(proof, why, advice)
    call = case.written.inner(node)
    text = f'{call[:-1]}, reduction="sum") / ({bare} != {ignored}).sum().clamp_min(1)'
    text = text if case.written.stands_alone(node) else f"({text})"
    told, edit = case.told([(case.written.span(node), text)])
    return Story(proof, why, f"{told}: it is 0 where no target counts.", edit)
