"""Finding the way through a model's layers, in their order of definition."""

from __future__ import annotations

import abc
import ast
import re
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState, within
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import (
    DEVIATION_FORMS,
    CopyLook,
    DivergenceReading,
    Edit,
    Finding,
    FormFit,
    LatentSampling,
    Place,
    WrittenSampling,
)


def rectifier_place(source: str, state: RunState) -> Place:
    """The ReLU module defined right after this layer; the layer itself where ReLU is a function call."""
    modules = state.modules
    for module, following in zip(modules, [*modules[1:], None], strict=True):
        if module.path == source:
            found = following if following is not None and "ReLU" in following.kind else module
            return within(found.place, found.path)
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


class SamplingCheck(Check):
    """Judges what noise is made into latent variables; sure of a fault when it was seen on several looks."""

    reads: ClassVar[tuple[type, ...]] = (LatentSampling,)

    looks_needed: ClassVar[int] = 2

    def __init__(self) -> None:
        self._looks: dict[tuple[str, ...], list[LatentSampling]] = {}

    @abc.abstractmethod
    def fault_in(self, look: LatentSampling) -> tuple[str, ...]:
        """The fault, and whatever tells it from others of its kind; empty where nothing is wrong."""

    @abc.abstractmethod
    def judge(self, fault: str, looks: list[LatentSampling], state: RunState) -> Finding: ...

    def see(self, record: LatentSampling, state: RunState) -> Iterable[Finding]:
        if key := self.fault_in(record):
            looks = self._looks.setdefault(key, [])
            looks.append(record)
            if len(looks) >= self.looks_needed:
                yield self.judge(key[0], looks, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [self.judge(key[0], looks, state) for key, looks in self._looks.items()]


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
    if not text:
        return "", None
    inner = _inner(text) if use != "as it is" else text
    by_name = written.noise.startswith("torch.") or "torch." in text
    if inner == text and use != "as it is":
        change = _OF_USED.get((reading.form, use), "").format(text)
    elif reading.form in ("log-variance", "log-deviation"):
        exponent = f"0.5 * {inner}" if reading.form == "log-variance" else inner
        change = f"torch.exp({exponent})" if by_name else f"({exponent}).exp()"
    elif reading.form == "variance":
        change = f"torch.sqrt({inner})" if by_name else f"({inner}).sqrt()"
    else:
        change = inner
    around = written.around
    if not change or len(around) != 2:
        return change, None
    return change, edit_line(written.deviation_place, f"{around[0]}{change}{around[1]}")


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
