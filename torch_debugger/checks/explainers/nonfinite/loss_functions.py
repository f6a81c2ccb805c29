"""Losses of torch's at the edge of what they take."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.exponentials import exponent_bound
from torch_debugger.checks.explainers.nonfinite.wording import negatives_of, number, share, zeros_of
from torch_debugger.checks.explainers.nonfinite.written import op_of
from torch_debugger.records import Edit


def explain_binary_cross_entropy(case: Case) -> Story | None:
    operand, name = case.operand(), case.name()
    if not operand.elements or (operand.low > 0 and operand.high < 1):
        return None
    edge = zeros_of(operand, name) if operand.zeros else f"{name} goes up to {number(operand.high)}"
    why = "The loss is -log(p) or -log(1 - p), and its slope divides by p * (1 - p), which is 0 at 0 and 1."
    told, edit = _with_logits(case)
    return Story(f"because {edge}", why, told, edit)


def _with_logits(case: Case) -> tuple[str, Edit | None]:
    """`F.binary_cross_entropy(torch.sigmoid(z), y)` -> `F.binary_cross_entropy_with_logits(z, y)`"""
    node, first = case.written.node, case.node(0)
    op, operands = op_of(first) if first is not None else ("", [])
    if not isinstance(node, ast.Call) or op != "sigmoid" or not operands or first is None:
        return "Give the raw scores, without the sigmoid, to `F.binary_cross_entropy_with_logits`.", None
    end = case.written.span(node.func)[1]
    changes = [((end, end), "_with_logits"), (case.written.span(first), case.written.source(operands[0]))]
    told, edit = case.told(changes)
    return f"{told}: it needs no sigmoid and cannot overflow.", edit


def explain_kl_divergence(case: Case) -> Story | None:
    given, target = case.operand(0), case.operand(1)
    logged = any(text == "log_target=True" for text in case.origin.arguments)
    if given.infs:
        proof = f"because {share(given.infs, given, case.name(0), '-inf')}"
        why = "kl_div is target * (log(target) - input): an input of -inf, the log of 0, makes it inf."
        fix = f"Make {case.name(0)} by `F.log_softmax(scores, dim)`, which is never -inf for finite scores."
        return Story(proof, why, fix)
    if target.negatives and not logged:
        why = "kl_div takes log(target), which is NaN below 0."
        fix = f"Give probabilities as the target, or `log_target=True` where {case.name(1)} holds their logs."
        return Story(f"because {negatives_of(target, case.name(1))}", why, fix)
    if target.infs and logged:
        why = "With `log_target=True` kl_div is exp(target) * (target - input): 0 * -inf is NaN."
        fix = "Make the target by `F.log_softmax(scores, dim)`, or give probabilities and no `log_target`."
        return Story(f"because {share(target.infs, target, case.name(1), '-inf')}", why, fix)
    return None


def explain_gaussian_nll(case: Case) -> Story | None:
    variance, name = case.operand(2), case.name(2) if case.operand(2).name else "the variance"
    if not variance.elements or variance.low > 1e-4:
        return None
    proof = f"because {name} goes down to {number(variance.low)}"
    why = "The loss divides the squared error by the variance, and its slope by the square of that."
    told, edit = case.with_method(2, ".clamp_min(1e-2)" if variance.dtype == "float16" else ".clamp_min(1e-4)")
    return Story(proof, why, f"{told}.", edit)


def explain_poisson_nll(case: Case) -> Story | None:
    operand, bound = case.operand(), exponent_bound(case.operand(), "exp")
    if (
        bound is None
        or operand.high <= bound
        or any(text == "log_input=False" for text in case.origin.arguments)
    ):
        return None
    proof = f"because {case.name()} goes up to {number(operand.high)}"
    why = f"The loss takes exp of its input, which leaves {operand.dtype} above {number(bound)}."
    told, edit = case.with_method(0, f".clamp(max={10 if operand.dtype == 'float16' else 20})")
    return Story(proof, why, f"{told}, and find out why {case.name()} grew so large.", edit)


def explain_ctc(case: Case) -> Story | None:
    if "zero_infinity=True" in case.origin.arguments or not case.finite:
        return None
    if case.origin.made == "nan" and not case.backward:
        return None
    why = (
        "CTC is inf where a sample's input has fewer steps than its target needs, and the slope of that is NaN."
    )
    told, edit = case.with_keyword("zero_infinity=True", 6)
    return Story("given finite input", why, f"{told}, and check the lengths you give.", edit)
