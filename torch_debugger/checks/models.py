"""Finding the way through a model's layers, in their order of definition."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.base import RunState
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import (
    DEVIATION_FORMS,
    CopyLook,
    DivergenceReading,
    Edit,
    FormFit,
    LatentSampling,
    Place,
    WrittenSampling,
)


def rectifier_place(source: str, state: RunState) -> Place:
    """The ReLU module defined right after this layer; the layer itself where ReLU is a function call."""
    modules = [module for model in state.models.values() for module in model.modules]
    for module, following in zip(modules, [*modules[1:], None], strict=True):
        if module.path == source:
            found = following if following is not None and "ReLU" in following.kind else module
            return Place(found.place.file, found.place.line, found.path, found.place.code)
    return Place(module=source)


def is_last_layer(path: str, state: RunState) -> bool:
    """No layer of its model that has parameters was defined after it."""
    model = state.models.get(path.split(".", 1)[0])
    return model is not None and bool(model.parameters) and model.parameters[-1].path.startswith(path + ".")


# Copies of a model that are meant to follow it, told by what the user calls them.

# A word of the name, by dots, underscores and capitals: ema_model, ema.module, modelEMA, target_net, q_target
_WORDS = re.compile(
    r"(?:^|[_.])(?:ema|target|targ|averaged?|avg|swa|shadow|slow|polyak)(?:[_.]|\d|$)|Ema|EMA|Target|Averaged"
)


def is_follower(look: CopyLook) -> bool:
    return look.kind == "AveragedModel" or _WORDS.search(look.name) is not None


# What a look at the sampling of a variational model says: is it right, and if not, what is it instead?

# Of numbers that are the same but for rounding, in half precision too.
LARGEST_MISFIT = 2e-3
_BALANCE = 0.02
_CLOSE, _FAR = 1e-3, 0.01

RIGHT_USE = {"log-variance": "exp of half", "log-deviation": "exp", "deviation": "as it is", "variance": "square root"}
FORMULAS = {
    "as it is": "{}",
    "half": "0.5 * {}",
    "exp": "exp({})",
    "half of exp": "0.5 * exp({})",
    "exp of half": "exp(0.5 * {})",
    "exp of twice": "exp(2 * {})",
    "exp of minus half": "exp(-0.5 * {})",
    "square root": "sqrt({})",
    "square": "{} ** 2",
    "softplus": "softplus({})",
    "sigmoid": "sigmoid({})",
}
# The right one times a number: samples are drawn closer to the mean on purpose.
_TEMPERED = (("deviation", "half"), ("log-deviation", "half of exp"))
# The deviation, of a variable that holds something else and that other lines need too.
_OF_USED = {
    ("log-variance", "half"): "torch.exp({})",
    ("log-variance", "exp"): "torch.sqrt({})",
    ("log-variance", "exp of minus half"): "(1 / {})",
    ("log-deviation", "exp of twice"): "torch.sqrt({})",
    ("log-deviation", "exp of half"): "torch.square({})",
}
_FUNCTIONS = ("exp", "exp_", "sqrt", "softplus", "sigmoid", "square")


def is_divergence(fit: FormFit) -> bool:
    """The gradient of a Kullback-Leibler divergence to the standard normal, whatever its weight."""
    return fit.misfit < LARGEST_MISFIT and fit.first > 0 and abs(fit.second / fit.first + 1) < _BALANCE


def right_reading(look: LatentSampling) -> DivergenceReading | None:
    """What the divergence takes a tensor for; of several that say the same, the one nearest to the layer."""
    found = [reading for reading in look.readings if is_divergence(reading.fit)]
    return max(found, key=lambda reading: reading.distance, default=None)


def sampled_reading(look: LatentSampling) -> DivergenceReading | None:
    """Of the right ones, the one nearest to the layer that the noise is multiplied with a known function of."""
    found = [each for each in look.readings if is_divergence(each.fit) and wrong_use(each)]
    return max(found, key=lambda reading: reading.distance, default=None)


def wrong_use(reading: DivergenceReading) -> str | None:
    """What multiplies the noise in place of the deviation, if it is a known function of the same tensor."""
    used = dict(zip(DEVIATION_FORMS, reading.used, strict=False))
    closest = min(used, key=lambda form: used[form] if used[form] == used[form] else 1.0, default="")
    is_clear = closest and used[closest] < _CLOSE and used.get(RIGHT_USE[reading.form], 0.0) > _FAR
    return closest if is_clear and (reading.form, closest) not in _TEMPERED else None


def sampled_right(written: WrittenSampling, reading: DivergenceReading, use: str) -> tuple[str, Edit | None]:
    """The deviation as it should be written, and the edit where the line shows what it is made of."""
    text = written.deviation
    inner = _inner(text) if use != "as it is" else text
    by_name = written.noise.startswith("torch.") or "torch." in text
    if not text:
        return "", None
    if inner == text and use != "as it is":
        change = _OF_USED.get((reading.form, use), "").format(text)
    else:
        change = _deviation(reading.form, inner, by_name)
    place, around = written.deviation_place, written.around
    if not change or len(around) != 2:
        return change, None
    return change, edit_line(place, f"{around[0]}{change}{around[1]}")


def _deviation(form: str, inner: str, by_name: bool) -> str:
    factor = "0.5 * " if form == "log-variance" else ""
    if form in ("log-variance", "log-deviation"):
        return f"torch.exp({factor}{inner})" if by_name else f"({factor}{inner}).exp()"
    if form == "variance":
        return f"torch.sqrt({inner})" if by_name else f"({inner}).sqrt()"
    return inner


def _inner(text: str) -> str:
    """The tensor below functions and factors: log_var of torch.exp(2 * log_var)."""
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    while (further := _behind(node)) is not None:
        node = further
    return ast.unparse(node)


def _behind(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=ast.Constant() | ast.UnaryOp(operand=ast.Constant()), op=ast.Mult(), right=inner):
            return inner
        case ast.BinOp(left=inner, op=ast.Mult() | ast.Div() | ast.Pow(), right=ast.Constant()):
            return inner
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return inner
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[inner, *_]) if name in _FUNCTIONS:
            return inner
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in (*_FUNCTIONS, "mul", "div", "pow"):
            return inner
    return None
