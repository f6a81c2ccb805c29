"""log, log1p, xlogy, logit at 0 and below."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.numerics.nonfinite_operation import (
    OpCase,
    Story,
    is_rounding,
    near_one,
    negatives_of,
    number,
    op_of,
    size_of,
    small_number,
    stable_form,
    zeros_of,
)
from torch_debugger.records import Edit, Operand

_ROUNDED = "So close to 0 it is likely to be rounding."


def explain_log(case: OpCase) -> Story | None:
    index = 1 if case.op == "xlogy" and len(case.origin.operands) > 1 else 0
    operand, name = case.operand(index), case.name(index)
    if operand.negatives and (case.origin.made == "nan" or not operand.zeros) and not case.backward:
        proof, why = f"because {negatives_of(operand, name)}", "The log of a negative number is NaN."
        if is_rounding(operand):
            advice, edit = _clamped(case, index)
            return Story(proof, f"{why} {_ROUNDED}", f"{advice}.", edit)
        fix = (
            f"Find out what makes {name} negative: there is no log of it. A number that must be positive comes out "
            "of `F.softplus(...)` or `torch.exp(...)`."
        )
        return Story(proof, why, fix)
    if not operand.zeros:
        return None
    log = "log" if case.op == "xlogy" else case.op
    why = f"The slope of {log}(x) is 1 / x, which is inf at 0." if case.backward else f"{log}(0) is -inf."
    proof, stable = f"because {zeros_of(operand, name)}", stable_form(case.written)
    if stable is not None:
        return Story(proof, why, f"{stable[0]}: it never takes the log of 0.", stable[1])
    advice, edit = _clamped(case, index)
    return Story(proof, why, f"{advice}.{_better(case, index)}", edit)


def _clamped(case: OpCase, index: int) -> tuple[str, Edit | None]:
    """With the log of 1 - p beside the log of p, both: they fail at the two ends of the same number."""
    method = f".clamp_min({small_number(case.operand(index))})"
    other = _complement(case, index)
    if other is None:
        return case.with_method(index, method)
    advice, _ = case.with_method(index, method)
    logged = [case.node(index, node) for node in case.written.nodes]
    changes = [case.written.with_method(node, method) for node in [*logged, other] if node is not None]
    return f"{advice}, and the same for `{case.written.source(other)}`", case.written.edit(changes)


def _complement(case: OpCase, index: int) -> ast.expr | None:
    """1 - p, where p is logged and 1 - p is too; or the other way round."""
    node, trees = case.node(index), case.written.trees
    logs = [op_of(inner)[1][0] for tree in trees for inner in ast.walk(tree) if op_of(inner)[0] == "log"]
    if node is None or len(logs) != 2:
        return None
    other = logs[1] if logs[0] is node else logs[0]
    first, second = ast.unparse(node), ast.unparse(other)
    of_each_other = first in (f"1 - {second}", f"1.0 - {second}") or second in (f"1 - {first}", f"1.0 - {first}")
    return other if of_each_other else None


def _better(case: OpCase, index: int) -> str:
    """What may be meant instead, by the operand's range and what it is called."""
    name = case.name(index)
    if case.op == "xlogy":
        return f" Where {name} is 0 by right, its weight should be 0 too."
    if _complement(case, index) is not None:
        return " Where the probability is a sigmoid's, `F.binary_cross_entropy_with_logits` takes its input."
    if case.operand(index).high > 1:
        return f" If {name} holds counts, `torch.log1p` is made for them." if case.operand(index).name else ""
    return f" If {name} comes out of a softmax or a sigmoid, use `F.log_softmax` or `F.logsigmoid` instead."


def explain_log1p(case: OpCase) -> Story | None:
    operand, name = case.operand(), case.name()
    if operand.low > -1 or not operand.elements:
        return None
    stable = stable_form(case.written)
    advice, edit = stable or case.with_method(0, f".clamp_min(-1 + {near_one(operand)})")
    why = "log1p(x) is log(1 + x): -inf at -1, NaN below; its slope 1 / (1 + x) is inf at -1."
    return Story(f"because {name} goes down to {number(operand.low)}", why, f"{advice}.", edit)


def explain_logit(case: OpCase) -> Story | None:
    operand, name = case.operand(), case.name()
    if not operand.elements or (operand.low > 0 and operand.high < 1):
        return None
    proof = f"because {name} goes from {number(operand.low)} to {number(operand.high)}"
    why = "logit(p) is log(p / (1 - p)): -inf at 0, inf at 1, NaN beyond them."
    advice, edit = case.with_keyword(f"eps={near_one(operand)}", 1)
    return Story(proof, why, f"{advice}: it keeps the input that far from 0 and 1.", edit)


# sqrt, rsqrt and powers that are no whole number: at 0 and below.
_LOG_VARIANCE = re.compile(r"(?:^|[._])log_?var(?:iance)?s?$|log_?var", re.IGNORECASE)


def explain_root(case: OpCase) -> Story | None:
    operand, name = case.operand(), case.name()
    if operand.negatives and not case.backward:
        return _roots_of_negatives(case, f"The {case.op} of a negative number is NaN.")
    if not operand.zeros or (case.op == "sqrt" and not case.backward):
        return None
    advice, edit = case.with_sum(0, small_number(operand))
    why = "The slope of sqrt(x) is 1 / (2 * sqrt(x)), which is inf at 0."
    if case.op == "rsqrt":
        why = "rsqrt(x) is 1 / sqrt(x), which is inf at 0."
    return Story(f"because {zeros_of(operand, name)}", why, f"{advice}.", edit)


def _roots_of_negatives(case: OpCase, why: str) -> Story:
    operand, name = case.operand(), case.name()
    proof = f"because {negatives_of(operand, name)}"
    if is_rounding(operand):
        advice, edit = case.with_method(0, f".clamp_min({small_number(operand)})")
        return Story(proof, f"{why} {_ROUNDED}", f"{advice}.", edit)
    if case.op == "sqrt" and _LOG_VARIANCE.search(case.bare_name()):
        return _of_log_variance(case, proof, why)
    node = case.node()
    positive = (
        "A variance is kept positive by `F.softplus(...)`; the deviation of a log-variance is "
        "`torch.exp(0.5 * log_var)`."
    )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        positive = (
            "A variance taken as the difference of two means, mean(x**2) - mean(x)**2, is lost in rounding "
            "where the mean is large: use `torch.var` or `torch.std`."
        )
    elif case.op == "pow":
        small = small_number(operand)
        positive = f"What may only be 0 or more is kept there by `F.softplus(...)` or `.clamp_min({small})`."
    return Story(proof, why, f"Find out what makes {name} negative: it must not be, for a root. {positive}")


def _of_log_variance(case: OpCase, proof: str, why: str) -> Story:
    why += f" {case.name()} is the log of a variance by its name, and that may be negative."
    node = case.written.node
    if not isinstance(node, ast.Call):
        return Story(proof, why, f"The deviation is `torch.exp(0.5 * {case.bare_name()})`.")
    operand = case.node()
    text = case.written.primary(operand) if operand is not None else case.bare_name()
    advice, edit = case.rewritten([(case.written.span(node), f"torch.exp(0.5 * {text})")])
    return Story(proof, why, f"{advice}: that is the deviation.", edit if "torch." in case.written.code else None)


def explain_power(case: OpCase) -> Story | None:
    exponent = _exponent(case)
    operand, name = case.operand(), case.name()
    if exponent is None:
        if not case.backward or not operand.negatives or not case.operand(1).elements:
            return None
        why = "The slope of a ** b by b is a ** b * log(a), and the log of a negative number is NaN."
        fix = f"Keep {name} above 0, or let the exponent need no gradient: `{case.bare_name(1)}.detach()`."
        return Story(f"because {negatives_of(operand, name)}", why, fix)
    fractional = exponent != int(exponent)
    if fractional and operand.negatives and not case.backward:
        return _roots_of_negatives(case, f"A negative number to the power {number(exponent)} is NaN.")
    if not operand.zeros or (exponent > 0 and not case.backward) or exponent >= 1:
        return None
    advice, edit = case.with_sum(0, small_number(operand))
    power = number(exponent)
    slope = f"The slope of x ** {power} is {power} * x ** {number(exponent - 1)}, which is inf at 0."
    proof, why = f"because {zeros_of(operand, name)}", slope if case.backward else f"0 ** {power} is inf."
    if operand.negatives:
        return Story(proof, why, f"Keep {name} away from 0: it has values of both signs.")
    return Story(proof, why, f"{advice}.", edit)


def _exponent(case: OpCase) -> float | None:
    """Of `x ** 0.5`; of `2 ** x`, where the tensor is the exponent, nothing is said here."""
    exponent = case.operand(1)
    if exponent.elements:
        return exponent.low if exponent.low == exponent.high else None
    first = case.node()
    node = case.written.node
    if isinstance(node, ast.BinOp) and first is node.right:
        return None
    return case.number() if case.number() is not None else case.number("exponent")


# Division by 0: a / b, 1 / b, remainders, and the angle of a point at the origin.
def explain_quotient(case: OpCase) -> Story | None:
    index = _divisor(case)
    if index is None:
        if case.number() != 0:
            return None
        node = case.written.node
        given = f" `{case.written.source(op_of(node)[1][1])}`" if isinstance(node, ast.BinOp) else ""
        fix = f"Find out why{given or ' the number'} is 0 there; a count is kept above it by `max(n, 1)`."
        return Story(f"because its divisor{given} is 0", "A number divided by 0 is inf, and 0 / 0 is NaN.", fix)
    divisor, dividend, name = case.operand(index), case.operand(1 - index), case.name(index)
    size = size_of(dividend) if dividend.elements and index == 1 else 1.0
    if divisor.zeros:
        proof = f"because {zeros_of(divisor, name)}"
    elif divisor.low > 0 and divisor.limit > 0 and size > divisor.low * divisor.limit:  # it leaves the dtype
        proof = f"because {name} goes down to {number(divisor.low)}"
    else:
        return None
    advice, edit = stable_form(case.written) or _guarded(case, index, divisor)
    return Story(proof, _mathematics(case, divisor), f"{advice}.", edit)


def _divisor(case: OpCase) -> int | None:
    """Which operand is divided by; None where a plain number is."""
    if len(case.origin.operands) > 1:
        return 1
    node = case.written.node
    if case.op == "reciprocal" or node is None:
        return 0 if case.op == "reciprocal" or case.number() != 0 else None
    given = op_of(node)[1]
    return 0 if len(given) > 1 and case.node(0) is given[1] else None


def _mathematics(case: OpCase, divisor: Operand) -> str:
    dividend = case.operand(0) if len(case.origin.operands) > 1 else None
    if case.op == "remainder":
        return "The remainder of a division by 0 is NaN."
    if not divisor.zeros:
        return f"A quotient by a number that small leaves {divisor.dtype}, which ends at {number(divisor.limit)}."
    if case.backward:
        return "The slope of a / b by b is -a / b**2, which is not finite at 0."
    if case.origin.made == "nan" and (dividend is None or dividend.zeros):
        return "0 / 0 is NaN."
    return "A number divided by 0 is inf, and 0 / 0 is NaN."


def _guarded(case: OpCase, index: int, divisor: Operand) -> tuple[str, Edit | None]:
    if divisor.dtype == "float16":  # the slope a / b**2 leaves float16 for every b that is small
        return f"Divide in float32: `{case.bare_name(index)}.float().clamp_min(1e-8)`", None
    # What a divisor is the root of: behind the root a clamp is too late, its slope at 0 is inf already.
    node = case.node(index)
    op, given = op_of(node) if node is not None else ("", [])
    if op == "sqrt" and given and len(case.written.nodes) == 1:
        return case.rewritten([case.written.with_sum(given[0], small_number(divisor))])
    if divisor.negatives:
        return case.with_sum(index, small_number(divisor))
    return case.with_method(index, f".clamp_min({small_number(divisor)})")


# Norms and distances of vectors that are 0.
_EPS = {"normalize": "1e-12", "cosine_similarity": "1e-8", "pairwise_distance": "1e-6"}


def explain_two_zeros(case: OpCase) -> Story | None:
    """atan2 and hypot, of which the slope is not defined where both are 0."""
    first, second = case.operand(0), case.operand(1)
    if not case.backward or not (first.zeros and second.zeros):
        return None
    proof = f"because {zeros_of(first, case.name(0))} and {zeros_of(second, case.name(1))}"
    if case.op == "atan2":
        advice, edit = case.with_sum(1, small_number(second))
        why = "The slope of atan2(y, x) by y is x / (x**2 + y**2), which is 0 / 0 where both are 0."
        return Story(proof, why, f"{advice}.", edit)
    why = "The slope of hypot(a, b) by a is a / hypot(a, b), which is 0 / 0 where both are 0."
    nodes = [case.node(0), case.node(1)]
    if case.written.node is None or None in nodes:
        return Story(proof, why, "Write `torch.sqrt(a.pow(2) + b.pow(2) + 1e-8)`.")
    squares = " + ".join(case.written.with_method(node, ".pow(2)")[1] for node in nodes if node is not None)
    text = f"({squares} + {small_number(first)}).sqrt()"
    advice, edit = case.rewritten([(case.written.span(case.written.node), text)])
    return Story(proof, why, f"{advice}.", edit)


def explain_norm(case: OpCase) -> Story | None:
    """Only zeros are counted, not which rows they fill: no more than that is said."""
    operand = case.operand()
    if not case.backward or (operand.zeros < 2 and operand.elements != 1):
        return None
    proof = f"because {zeros_of(operand, case.name())}"
    why = "The slope of a norm is x / |x|, which is 0 / 0 for a vector of zeros."
    node = case.written.node
    added, keywords = small_number(operand), node.keywords if isinstance(node, ast.Call) else []
    euclidean = len(op_of(node)[1]) == 1 if node is not None else False
    euclidean = euclidean and all(word.arg in ("dim", "keepdim") for word in keywords)
    if case.op != "norm" or not isinstance(node, ast.Call) or not euclidean:
        return Story(proof, why, f"Take the root of a sum that cannot be 0: `(x.pow(2).sum(dim) + {added}).sqrt()`.")
    argument = case.node()
    square = case.written.with_method(argument, ".pow(2)")[1] if argument is not None else f"{case.bare_name()}.pow(2)"
    dims = ", ".join(f"{word.arg}={case.written.source(word.value)}" for word in keywords)
    text = f"({square}.sum({dims}) + {added}).sqrt()"
    advice, edit = case.rewritten([(case.written.span(node), text)])
    return Story(proof, why, f"{advice}.", edit)


def explain_unit_vector(case: OpCase) -> Story | None:
    """normalize and cosine_similarity guard their divisor by an eps that float16 rounds to 0."""
    operand, eps = case.operand(), case.number("eps")
    if not operand.zeros or not (operand.dtype == "float16" or eps == 0):
        return explain_norm(case)
    zero = "its eps is 0" if eps == 0 else f"its eps of {_EPS[case.op]} is 0 in float16"
    why = f"{case.op} divides by max(|x|, eps), and {zero}: for a vector of zeros that is 0 / 0."
    advice, edit = case.with_keyword(f"eps={small_number(operand)}", 3)
    return Story(f"because {zeros_of(operand, case.name())}", why, f"{advice}.", edit)


# acos, asin, atanh, erfinv at 1 and -1 and beyond; acosh at 1 and below.
_SLOPES = {
    "acos": "-1 / sqrt(1 - x**2)",
    "asin": "1 / sqrt(1 - x**2)",
    "atanh": "1 / (1 - x**2)",
    "erfinv": "sqrt(pi) / 2 * exp(erfinv(x)**2)",
}


def explain_angle(case: OpCase) -> Story | None:
    """Inside -1 and 1 these are finite, and so are their slopes."""
    operand, name = case.operand(), case.name()
    if not operand.elements or (operand.low > -1 and operand.high < 1):
        return None
    if case.op in ("acos", "asin") and not case.backward and operand.low >= -1 and operand.high <= 1:
        return None
    beyond = operand.low < -1 or operand.high > 1
    step = near_one(operand)
    advice, edit = case.with_method(0, f".clamp(-1 + {step}, 1 - {step})")
    proof = f"because {name} goes from {number_near_one(operand.low)} to {number_near_one(operand.high)}"
    why = f"{case.op}(1) is inf and {case.op}(-1) is -inf."
    if case.backward:
        why = f"The slope of {case.op}(x) is {_SLOPES[case.op]}, which is inf at 1 and -1."
    elif beyond:
        why = f"{case.op} is defined from -1 to 1; beyond that it is NaN."
    return Story(proof, why, f"{advice}.", edit)


def number_near_one(value: float) -> str:
    """1.0000001, where four digits would say 1"""
    return f"{value:.8g}" if 0 < abs(abs(value) - 1) < 1e-3 else number(value)


def explain_acosh(case: OpCase) -> Story | None:
    operand, name = case.operand(), case.name()
    if not operand.elements or operand.low > 1 or (operand.low == 1 and not case.backward):
        return None
    advice, edit = case.with_method(0, f".clamp_min(1 + {near_one(operand)})")
    why = "acosh is defined from 1 on; below it is NaN, and at 1 its slope 1 / sqrt(x**2 - 1) is inf."
    return Story(f"because {name} goes down to {number_near_one(operand.low)}", why, f"{advice}.", edit)


# Gamma functions, matrix decompositions, and tensors that hold nothing yet.
_NAN = re.compile(r"""float\(\s*["']nan["']\s*\)|\b(?:torch|math|np|numpy)\.nan\b""", re.IGNORECASE)
_EMPTY = re.compile(r"\b(torch\.|\.)?(new_)?empty(_like)?\(")
_ALLOCATORS = ("empty", "empty_like", "new_empty", "Tensor", "FloatTensor", "empty_strided")
_EQUAL = {
    "svd": "The slope of the singular vectors divides by the differences of the squared singular values",
    "eigh": "The slope of the eigenvectors divides by the differences of the eigenvalues",
    "eig": "The slope of the eigenvectors divides by the differences of the eigenvalues",
}


def explain_gamma(case: OpCase) -> Story | None:
    operand = case.operand()
    if not operand.zeros or operand.negatives:
        return None
    advice, edit = case.with_method(0, f".clamp_min({small_number(operand)})")
    why = f"{case.op} has a pole at 0, where it is not finite."
    return Story(f"because {zeros_of(operand, case.name())}", why, f"{advice}.", edit)


def explain_decomposition(case: OpCase) -> Story | None:
    if not case.backward:
        return None
    why = f"{_EQUAL[case.op]}: where two are equal, as for the identity, that is a division by 0."
    fix = "Use only the values (`torch.linalg.svdvals`, `torch.linalg.eigvalsh`), or add a little noise."
    return Story("given a matrix that was finite", why, fix)


def explain_determinant(case: OpCase) -> Story | None:
    if not case.finite:
        return None
    name, added = case.bare_name(), small_number(case.operand())
    why = f"{case.op} is not finite for a matrix without an inverse, whose determinant is 0, or so near to one."
    fix = f"Add a little to the diagonal: `{name} + {added} * torch.eye({name}.shape[-1])`."
    return Story("given a matrix that was finite", why, fix)


def explain_constant(case: OpCase) -> Story | None:
    """A NaN that is written in the line, or memory that nothing was written to."""
    if case.op in _ALLOCATORS:
        why = "`torch.empty` reserves memory without writing to it: what is in it is whatever was there before."
        code = case.written.code
        changed = _EMPTY.sub(lambda found: f"{found[1] or ''}{found[2] or ''}zeros{found[3] or ''}(", code)
        edit = case.written.edit([((0, len(code)), changed)])
        advice = f"Write `{changed}`" if edit else "Use `torch.zeros`"
        return Story(
            "because nothing was written to that memory", why, f"{advice}, or fill it before it is used.", edit
        )
    if not case.finite or not (_NAN.search(case.written.code) or "nan" in case.origin.arguments):
        return None
    fix = "Replace the NaN by a number, or select with `torch.where` before it reaches the loss."
    return Story("because a NaN is written there", "Every number that meets a NaN becomes one.", fix)
