"""Finite numbers whose sum or product leaves the range of the dtype."""

from __future__ import annotations

import ast
import math
import re
from typing import TypeGuard

from torch_debugger.checks.crashes.explanation import shape_text
from torch_debugger.checks.numerics.nonfinite_operation import (
    Change,
    OpCase,
    Story,
    bounds,
    headroom,
    negatives_of,
    number,
    op_of,
    renamed,
    share,
    size_of,
    small_number,
    stable_form,
    zeros_of,
)
from torch_debugger.records import Edit, Operand

_HALF = 65504.0
_CASTS = ("half", "to", "type", "type_as")


def explain_overflow(case: OpCase) -> Story | None:
    """Where the operands' sizes show that the result cannot be held."""
    if case.backward or not case.finite or not sized(case):
        return None
    if case.op in _CASTS:
        operand = case.operand()
        if size_of(operand) <= _HALF or operand.limit <= _HALF:
            return None
        why = f"float16 ends at 65,504; {case.name()} holds numbers that only {operand.dtype} can."
        fix = f"Keep {case.name()} in {operand.dtype}, scale it before the cast, or use bfloat16 instead."
        return Story(f"because {case.name()} reaches {number(size_of(operand))}", why, fix)
    reach, limit = reach_of(case), min((case.operand(index).limit for index in sized(case)), default=0.0)
    if reach is None or limit <= 0:
        return None
    if limit == _HALF:
        return _in_half(case, reach, "") if reach > _HALF else None
    if reach > limit:
        sizes = [f"{case.name(index)} reaches {number(size_of(case.operand(index)))}" for index in sized(case)[:2]]
        dtype = next(case.operand(index).dtype for index in sized(case) if case.operand(index).limit == limit)
        why = f"Of operands this large {case.op} can make {number(reach)}, and {dtype} ends at {number(limit)}. "
        grown = [each.parameter for each in case.origin.operands if each.parameter and size_of(each) > 1e4]
        if grown:
            why += f"The weight `{grown[0]}` itself has grown that far: its updates were too large."
        else:
            why += "Numbers of that size are seldom meant: they grew step by step, or came in unscaled."
        model = grown[0].partition(".")[0] if grown else "model"
        fix = (
            "Lower the learning rate, or clip the gradients before each step "
            f"(`torch.nn.utils.clip_grad_norm_({model}.parameters(), 1.0)`); scale inputs and targets to about 1."
        )
        return Story(f"because {' and '.join(dict.fromkeys(sizes))}", why, fix)
    if case.op in PRODUCTS and reach > _HALF and case.origin.made != "nan":
        return _in_half(case, reach, "The operands are float32, so autocast ran it in half precision. ")
    return None


def _in_half(case: OpCase, reach: float, before: str) -> Story:
    sizes = []
    for index in sized(case)[:2]:
        size = size_of(case.operand(index))
        room = f" ({headroom(case.operand(index), _HALF)})" if size < _HALF else ""
        sizes.append(f"{case.name(index)} reaches {number(size)}{room}")
    why = f"{before}Of operands this large {case.op} can make {number(reach)}, and float16 ends at 65,504."
    proof, scaled = (f"because {' and '.join(dict.fromkeys(sizes))}", _scaled_before(case))  # h * h has one operand
    if scaled is not None:
        return Story(proof, why, f"{scaled[0]}: scale before the product, not after.", scaled[1])
    advice, edit = _in_float32(case)
    fix = f"{advice}, scale its operands down, or train in bfloat16, which has the range of float32."
    return Story(proof, why, fix, edit)


def _in_float32(case: OpCase) -> tuple[str, Edit | None]:
    """Outside of the model a float32 result fits everywhere; inside, a half layer may follow."""
    nodes = [case.node(index) for index in sized(case)]
    if case.origin.phase != "loss" or None in nodes or case.operand().dtype != "float16":
        return "Keep this in float32 (`x.float()`, or `torch.autocast(..., enabled=False)` around it)", None
    return case.rewritten([case.written.with_method(node, ".float()") for node in nodes if node is not None])


def _scaled_before(case: OpCase) -> tuple[str, Edit | None] | None:
    """`q @ k.T / math.sqrt(d)` -> `(q / math.sqrt(d)) @ k.T`"""
    inner = case.written.node
    if case.op != "matmul" or inner is None or len(case.written.nodes) > 1:
        return None
    for holder in case.written.holders(inner):
        op, parts = op_of(holder)
        if op in ("div", "mul") and parts[0] is inner and _is_plain_number(parts[1]):
            sign = "/" if op == "div" else "*"
            return _moved(case, holder, f" {sign} {case.written.source(parts[1])}")
    return None


def _moved(case: OpCase, holder: ast.AST, scale: str) -> tuple[str, Edit | None]:
    inner = case.written.nodes[0]
    first = op_of(inner)[1][0]
    text = f"{case.written.primary(first)}{scale}"
    change: Change = (case.written.span(first), f"({text})" if isinstance(inner, ast.BinOp) else text)
    after = case.written.expression(inner, [change])
    advice = f"Write `{after}` instead of `{case.written.inner(holder)}`"
    return advice, case.written.edit([(bounds(holder), after)])


def _is_plain_number(node: ast.expr) -> bool:
    """A number, math.sqrt(d), d ** 0.5: nothing that has a shape."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.Constant | ast.UnaryOp)
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("math.", "np.", "numpy."))


# How large the result of an op can be, by the sizes of its operands.
PRODUCTS = (
    "matmul", "linear", "addmm", "baddbmm", "einsum", "bilinear", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "scaled_dot_product_attention", "multi_head_attention_forward",
)  # fmt: skip


def sized(case: OpCase) -> list[int]:
    return [index for index, operand in enumerate(case.origin.operands) if operand.limit and size_of(operand)]


def reach_of(case: OpCase) -> float | None:
    """How large the result can be, by the sizes of the operands."""
    sizes = [size_of(case.operand(index)) for index in sized(case)]
    first = case.operand(0)
    if case.op in PRODUCTS and len(sizes) >= 2:
        return sizes[0] * sizes[1] * _terms(first, case.operand(1))
    match case.op:
        case "mul":
            return math.prod(sizes) if len(sizes) > 1 else sizes[0] * abs(case.number() or 1.0)
        case "add" | "sub":
            return sum(sizes)
        case "sum" | "mean" | "cumsum":
            return sizes[0] * first.elements
        case "square" | "mse_loss" | "var" | "std" | "norm":
            return _power(sum(sizes), 2) * (first.elements if case.op != "square" else 1)
        case "pow":
            exponent = case.number()
            return _power(sizes[0], exponent) if exponent is not None else None
        case "prod" | "cumprod":
            return _power(sizes[0], first.elements)
    return None


def _power(size: float, exponent: float) -> float:
    try:
        return float(size**exponent)
    except OverflowError:
        return math.inf


def _terms(first: Operand, second: Operand) -> int:
    """How many products are summed; of a convolution, those of one filter."""
    if len(second.shape) > 2 and len(second.shape) == len(first.shape) and first.shape[-1] != second.shape[-2]:
        return math.prod(second.shape[1:])
    return first.shape[-1] if first.shape else 1


# exp, expm1, exp2, sinh, cosh of numbers that are too large.

# Far below the bound, so that the square of such a value is finite too, and the square of its gradient.
_MOST = {"float16": 10, "bfloat16": 20, "float32": 20, "float64": 170}


def explain_exponential(case: OpCase) -> Story | None:
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
    node = case.written.node
    holders = case.written.holders(node) if node is not None and case.op == "exp" else []
    # A clamp before a sum would take the slope from its largest parts.
    if any(op_of(holder)[0] == "sum" and op_of(holder)[1][0] is node for holder in holders):
        advice = f"Where the log of this sum is taken, use `torch.logsumexp({case.bare_name()}, dim)`"
        return Story(proof, why, f"{advice}; where it is divided by, `torch.softmax`. Neither overflows.")
    most = math.floor(_MOST.get(operand.dtype, 10) / (math.log(2) if case.op == "exp2" else 1))
    advice, edit = case.with_method(0, f".clamp(-{most}, {most})" if both else f".clamp(max={most})")
    grown = "a learning rate that is too high, or inputs that are not scaled"
    return Story(proof, why, f"{advice}, and find out why {name} grew so large: {grown}.", edit)


def exponent_bound(operand: Operand, op: str) -> float | None:
    """The largest x whose exp(x) the dtype can hold: 88.72 for float32, 11.09 for float16."""
    if operand.limit <= 1 or not operand.elements:
        return None
    return round(math.log2(operand.limit) if op == "exp2" else math.log(operand.limit), 2)


# Losses of torch's at the edge of what they take.
def explain_binary_cross_entropy(case: OpCase) -> Story | None:
    operand, name = case.operand(), case.name()
    if not operand.elements or (operand.low > 0 and operand.high < 1):
        return None
    edge = zeros_of(operand, name) if operand.zeros else f"{name} goes up to {number(operand.high)}"
    why = "The loss is -log(p) or -log(1 - p), and its slope divides by p * (1 - p), which is 0 at 0 and 1."
    advice, edit = _with_logits(case)
    return Story(f"because {edge}", why, advice, edit)


def _with_logits(case: OpCase) -> tuple[str, Edit | None]:
    """`F.binary_cross_entropy(torch.sigmoid(z), y)` -> `F.binary_cross_entropy_with_logits(z, y)`"""
    node, first = case.written.node, case.node(0)
    op, operands = op_of(first) if first is not None else ("", [])
    if not isinstance(node, ast.Call) or op != "sigmoid" or not operands or first is None:
        return "Give the raw scores, without the sigmoid, to `F.binary_cross_entropy_with_logits`.", None
    end = case.written.span(node.func)[1]
    changes = [((end, end), "_with_logits"), (case.written.span(first), case.written.source(operands[0]))]
    advice, edit = case.rewritten(changes)
    return f"{advice}: it needs no sigmoid and cannot overflow.", edit


def explain_kl_divergence(case: OpCase) -> Story | None:
    given, target = case.operand(0), case.operand(1)
    logged = any(text == "log_target=True" for text in case.origin.arguments)
    if given.infs:
        proof = share(given.infs, given, case.name(0), "-inf")
        why = "kl_div is target * (log(target) - input): an input of -inf, the log of 0, makes it inf."
        fix = f"Make {case.name(0)} by `F.log_softmax(scores, dim)`, which is never -inf for finite scores."
    elif target.negatives and not logged:
        proof = negatives_of(target, case.name(1))
        why = "kl_div takes log(target), which is NaN below 0."
        fix = f"Give probabilities as the target, or `log_target=True` where {case.name(1)} holds their logs."
    elif target.infs and logged:
        proof = share(target.infs, target, case.name(1), "-inf")
        why = "With `log_target=True` kl_div is exp(target) * (target - input): 0 * -inf is NaN."
        fix = "Make the target by `F.log_softmax(scores, dim)`, or give probabilities and no `log_target`."
    else:
        return None
    return Story(f"because {proof}", why, fix)


def explain_gaussian_nll(case: OpCase) -> Story | None:
    variance, name = case.operand(2), case.name(2) if case.operand(2).name else "the variance"
    if not variance.elements or variance.low > 1e-4:
        return None
    proof = f"because {name} goes down to {number(variance.low)}"
    why = "The loss divides the squared error by the variance, and its slope by the square of that."
    advice, edit = case.with_method(2, ".clamp_min(1e-2)" if variance.dtype == "float16" else ".clamp_min(1e-4)")
    return Story(proof, why, f"{advice}.", edit)


def explain_poisson_nll(case: OpCase) -> Story | None:
    operand, bound = case.operand(), exponent_bound(case.operand(), "exp")
    if bound is None or operand.high <= bound or any(text == "log_input=False" for text in case.origin.arguments):
        return None
    proof = f"because {case.name()} goes up to {number(operand.high)}"
    why = f"The loss takes exp of its input, which leaves {operand.dtype} above {number(bound)}."
    advice, edit = case.with_method(0, f".clamp(max={10 if operand.dtype == 'float16' else 20})")
    return Story(proof, why, f"{advice}, and find out why {case.name()} grew so large.", edit)


def explain_ctc(case: OpCase) -> Story | None:
    if "zero_infinity=True" in case.origin.arguments or not case.finite:
        return None
    if case.origin.made == "nan" and not case.backward:
        return None
    why = "CTC is inf where a sample's input has fewer steps than its target needs, and the slope of that is NaN."
    advice, edit = case.with_keyword("zero_infinity=True", 6)
    return Story("given finite input", why, f"{advice}, and check the lengths you give.", edit)


# Means of nothing, the spread of a single value, products with a factor of 0, normalization without eps.
_MEANS = ("mean", "nanmean", "median", "nanmedian", "std", "var", "kl_div")
_EPS_OF_ZERO = re.compile(r"\beps\s*=\s*0(?:\.0*)?(?=\s*[,)])")


def explain_empty(case: OpCase) -> Story | None:
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
    advice, edit = case.rewritten([(case.written.span(node), quotient)])
    return Story(proof, why, f"{advice}: it is 0 where nothing was selected.", edit)


def _is_of_all(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """A mean over no dimension in particular."""
    return isinstance(node, ast.Call) and len(op_of(node)[1]) == 1 and not node.keywords


def explain_spread(case: OpCase) -> Story | None:
    operand, name = case.operand(), case.name()
    if case.backward:
        if operand.low != operand.high or not operand.elements or case.op != "std":
            return None
        why = "The slope of std is (x - mean) / std, which is 0 / 0 where all values are equal."
        proof, node = f"because all {operand.elements:,} values of {name} are equal", case.written.node
        if not isinstance(node, ast.Call):
            return Story(proof, why, "Take the root of a variance that cannot be 0: `(x.var() + 1e-8).sqrt()`.")
        variance = renamed(case.written, node, "std", "var")
        advice, edit = case.rewritten([(case.written.span(node), f"({variance} + {small_number(operand)}).sqrt()")])
        return Story(proof, why, f"{advice}.", edit)
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
    advice, edit = case.with_keyword("correction=0", 2)  # the third could be `unbiased`
    return Story(proof, why, f"{advice}, {last}.", edit)


def explain_product(case: OpCase) -> Story | None:
    operand = case.operand()
    if not case.backward or not operand.zeros:
        return None
    proof = f"because {zeros_of(operand, case.name())}"
    why = "The slope of a product by one factor is the product divided by it, which is 0 / 0 for a factor of 0."
    if operand.negatives:
        return Story(proof, why, f"Keep the factors in {case.name()} away from 0.")
    advice, edit = case.with_method(0, f".clamp_min({small_number(operand)})")
    return Story(proof, why, f"{advice}.", edit)


def explain_normalization(case: OpCase) -> Story | None:
    """layer_norm and its like with eps=0: a variance of 0 is divided by."""
    kept = [each for each in case.origin.operands if each.parameter.endswith("running_var") and each.negatives]
    if kept and not case.backward:  # in eval mode, by the root of a variance that was kept, not measured
        why = "In eval mode batch_norm divides by sqrt(running_var + eps); the root of a negative number is NaN."
        fix = (
            "Give the layer a `momentum` between 0 and 1 (0.1 is the default): a larger one overshoots, and "
            "`running_var` falls below 0."
        )
        return Story(f"because {negatives_of(kept[0], f'`{kept[0].parameter}`')}", why, fix)
    if case.number("eps") != 0 and not _EPS_OF_ZERO.search(case.written.code):
        return None
    why = f"{case.op} divides by sqrt(variance + eps): where all values are equal, that is 0 / 0."
    changed = _EPS_OF_ZERO.sub("eps=1e-5", case.written.code)
    edit = case.written.edit([((0, len(case.written.code)), changed)])
    return Story("because its eps is 0", why, "Give it `eps=1e-5`, the default.", edit)


# Rows of scores that a mask closes as a whole, and targets that it closes.
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


def explain_masked_row(case: OpCase) -> Story | None:
    if not case.origin.masked_row or not {case.op, case.origin.inner} & set(_OF_ROWS):
        return None
    index = max((index for index, operand in enumerate(case.origin.operands) if operand.infs), default=0)
    name = case.name(index)
    kind = _KINDS.get(case.op, "softmax divides exp(x) by its sum over the row")
    why = f"{kind}; for a row of -inf that sum is 0, and the result is NaN."
    proof = f"because a row of {name} is -inf as a whole"
    low = "-1e4" if case.operand(index).dtype == "float16" else "-1e9"
    changed = _MINUS_INF.sub(low, case.written.code)
    advice = f"Leave at least one place of each row open, or mask with a finite number (`{low}`) instead of -inf."
    return Story(proof, why, advice, case.written.edit([((0, len(case.written.code)), changed)]))


def explain_class_loss(case: OpCase) -> Story | None:
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


def _of_nothing(case: OpCase, targets: Operand, ignored: int) -> Story:
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
    advice, edit = case.rewritten([(case.written.span(node), text)])
    return Story(proof, why, f"{advice}: it is 0 where no target counts.", edit)


# Bad values that where() or masked_fill leaves out of the forward pass, but not out of the backward pass.

# What an op may be given in place of a bad value, far from every edge.
_SAFE = dict.fromkeys(("exp", "expm1", "acos", "asin", "atanh", "erfinv"), "0.0") | {"logit": "0.5"}


def explain_selected(case: OpCase, story: Story | None) -> Story:
    """`story` tells what is wrong with the op's values where nothing selects among them."""
    chosen = case.origin.selected_by
    why = (
        f"`{chosen}` left those values out of the forward pass, but not out of the backward pass: the gradient "
        "there is 0 times a slope that is not finite, which is NaN."
    )
    advice, edit = _with_where_before(case) or ("", None)
    if not advice and story is not None and story.edit is not None:
        advice, edit = story.fix.partition(". ")[0].rstrip("."), story.edit
    index = _divisor(case)
    advice = advice or f"Give {case.shown()} `torch.where(ok, {case.bare_name(index)}, {_SAFE.get(case.op, '1.0')})`"
    proof = story.proof if story else f"because `{chosen}` comes after it"
    return Story(proof, f"{story.why} {why}" if story else why, f"{advice}: make the input safe before the op.", edit)


def _divisor(case: OpCase) -> int:
    """The operand to make safe: of a quotient, what it divides by."""
    return 1 if case.op in ("div", "xlogy") and len(case.origin.operands) > 1 else 0


def _with_where_before(case: OpCase) -> tuple[str, Edit | None] | None:
    """`torch.where(m, torch.sqrt(x), 0.0)` with `torch.sqrt(torch.where(m, x, 1.0))` in it."""
    written = case.written
    node, operand = written.node, case.node(_divisor(case))
    if node is None or operand is None or len(written.nodes) > 1:
        return None
    for holder in written.holders(node):
        op, given = op_of(holder)
        if op != "where" or len(given) != 3 or not isinstance(holder, ast.Call):
            continue
        branches = [any(inner is node for inner in ast.walk(branch)) for branch in given[1:]]
        if branches.count(True) == 1 and written.source(holder.func) == "torch.where":
            start, end = written.span(operand)
            value, safe = written.code[start:end].strip(), _SAFE.get(case.op, "1.0")
            kept = f"{value}, {safe}" if branches[0] else f"{safe}, {value}"
            return case.rewritten([((start, end), f"torch.where({written.source(given[0])}, {kept})")])
    return None


# Arithmetic with Inf: 0 * inf, inf - inf, inf / inf.
_SUMS = {"sub": "inf - inf", "add": "inf + -inf", "div": "inf / inf"}
_TOTALS = ("sum", "mean", "cumsum")


def explain_infinite(case: OpCase) -> Story | None:
    """An op that was given Inf on purpose, a mask for instance, and made NaN of it."""
    if case.origin.made != "nan" or any(operand.nans for operand in case.origin.operands):
        return None
    if case.op == "mul":
        for zero, other in ((0, 1), (1, 0)):
            first, second = case.operand(zero), case.operand(other)
            if first.zeros and second.infs:
                proof = f"because {zeros_of(first, case.name(zero))} and "
                proof += share(second.infs, second, case.name(other), "Inf")
                advice, edit = _filled(case, zero, other)
                return Story(proof, "0 * inf is NaN: a product with 0 does not remove an Inf.", advice, edit)
        return None
    infinite = [index for index, operand in enumerate(case.origin.operands) if operand.infs]
    counted = " and ".join(
        share(case.operand(index).infs, case.operand(index), case.name(index), "Inf") for index in infinite
    )
    fix = "Put the -inf of a mask in last, just before the softmax, or mask by a finite number such as -1e9."
    if case.op in _SUMS and len(infinite) == 2:
        return Story(f"because {counted}", f"{_SUMS[case.op]} is NaN.", fix)
    if case.op in _TOTALS and infinite:
        return Story(f"because {counted}", "A sum over inf and -inf is NaN.", fix)
    return None


def _filled(case: OpCase, zero: int, infinite: int) -> tuple[str, Edit | None]:
    """`x * mask` -> `x.masked_fill(mask == 0, 0.0)`, where the mask holds nothing but 0 and 1."""
    mask, nodes = case.operand(zero), (case.node(zero), case.node(infinite))
    names = case.bare_name(zero), case.bare_name(infinite)
    text = f"{names[1]}.masked_fill({names[0]} == 0, 0.0)"
    is_mask = mask.dtype == "bool" or (not mask.limit and (mask.low, mask.high) == (0, 1))
    whole = case.written.node
    if not is_mask or None in nodes or not isinstance(whole, ast.BinOp) or nodes[1] is None:
        return f"Select instead of multiplying: `{text}`.", None
    text = case.written.with_method(nodes[1], f".masked_fill({names[0]} == 0, 0.0)")[1]
    advice, edit = case.rewritten([(case.written.span(whole), text)])
    return f"{advice}.", edit
