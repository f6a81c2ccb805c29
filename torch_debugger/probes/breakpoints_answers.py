"""Asks a breakpoint whether its condition holds, and stops where it does."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from os import getpid
from types import FrameType
from typing import Any, Protocol

import torch
from torch import nn

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.breakpoints_stops import Breakpoint, StopMoment, stop
from torch_debugger.source.breakpoint_conditions import FunctionCall, IndexedTerm, Junction, Literal, Node, Variable
from torch_debugger.stats.dispatch_modes import unseen
from torch_debugger.stats.summary import norm
from torch_debugger.stats.values import values_of
from torch_debugger.system.program import say


class TrainingWatch(Protocol):
    """Whoever watches the whole training: counts its steps, and is asleep while something of ours runs."""

    active: bool

    @property
    def step(self) -> int: ...
    def asleep(self) -> AbstractContextManager[None]: ...


class Asker:
    """Holds what all moments share: the watch, if there is one, and that a stop is no place for another."""

    def __init__(self, find_watch: Callable[[], TrainingWatch | None]) -> None:
        self.find_watch = find_watch
        self._busy = threading.local()
        self._pid = getpid()

    def is_awake(self) -> bool:
        """Not at a prompt, not in a fork (a loader's worker), not in a replay of ours."""
        watch = self.find_watch()
        asleep = watch is not None and not watch.active
        return not (getattr(self._busy, "now", False) or asleep or getpid() != self._pid)

    def ask(self, breakpoint: Breakpoint, names: ConditionNames, find_frame: Callable[[], FrameType]) -> None:
        if breakpoint.removed or not self.is_awake():
            return
        if breakpoint.moment is StopMoment.STEP and breakpoint.last_step == names.step:
            return
        self._busy.now = True
        try:
            if not unseen(holds, breakpoint.condition.tree, names):
                return
        except Exception as error:  # the promise: a condition that fails never reaches the training
            say(
                f"the breakpoint `{breakpoint}` failed at {names.path or 'the loss'} ({type(error).__name__}: "
                f"{error}) and is taken off; the training goes on."
            )
            breakpoint.remove()
            return
        finally:
            self._busy.now = False
        breakpoint.hits += 1
        breakpoint.last_step = names.step
        if not breakpoint.stops:
            return
        frame, watch = find_frame(), self.find_watch()
        where = f" in `{names.path}`" if names.path else ""
        reason = f"`{breakpoint}` holds at step {names.step}{where}"
        self._busy.now = True
        try:
            with watch.asleep() if watch is not None else nullcontext():
                breakpoint.stops = stop(frame, reason, names.at_hand(), breakpoint.remove)
        finally:
            self._busy.now = False


# Answers a condition for one scene. The tree is walked by us; no text is ever run.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def holds(tree: Node, names: ConditionNames) -> bool:
    """Whether the condition holds; where it has no answer, it does not."""
    try:
        with torch.no_grad():
            return bool(_answer(tree, names))
    except NoAnswerError:
        return False


def _answer(node: Node, names: ConditionNames) -> Any:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Variable):
        return names.value(node.word)
    if isinstance(node, FunctionCall):
        argument = _answer(node.argument, names)
        return names.parameter(argument) if node.function == "parameter" else MEASURES[node.function](argument)
    if isinstance(node, IndexedTerm):
        whole, key = _answer(node.whole, names), _answer(node.key, names)
        if isinstance(whole, torch.Tensor) and isinstance(key, str):
            raise NoAnswerError
        try:
            return whole[int(key) if isinstance(key, float) else key]
        except (LookupError, TypeError):
            raise NoAnswerError from None
    if not isinstance(node, Junction):
        return _operate(node.symbol, [_answer(part, names) for part in node.parts])
    # A part without an answer leaves it to the others: `loss > 5 or nan(output)` before there is a loss.
    decisive = node.word == "or"
    unknown = False
    for part in node.parts:
        try:
            if bool(_answer(part, names)) is decisive:
                return decisive
        except NoAnswerError:
            unknown = True
    if unknown:
        raise NoAnswerError
    return not decisive


def _operate(symbol: str, parts: list[Any]) -> Any:
    if symbol == "not":
        return not parts[0]
    if symbol == "fits":
        return _fits(*parts)
    ready: list[Any] = [part if isinstance(part, int | float | str) else the_tensor(part) for part in parts]
    if len(ready) == 1:
        return -ready[0] if symbol == "-" else ready[0]
    try:
        return _power(*ready) if symbol == "**" else _OPERATORS[symbol](*ready)
    except (ArithmeticError, ValueError):  # 1 / 0, (-8) ** 0.5
        raise NoAnswerError from None


def _power(base: Any, exponent: Any) -> Any:
    """In floating point: 9 ** 9 ** 9 is infinite and not a number of 300 million digits."""
    if isinstance(base, torch.Tensor) or isinstance(exponent, torch.Tensor):
        return base**exponent
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _fits(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Equal shapes, where None fits any size and ... any number of sizes."""
    for first, second in ((one, other), (other, one)):
        if ... in first:
            place = first.index(...)
            tail = len(first) - place - 1
            if len(second) < place + tail:
                return False
            return _fits(first[:place], second[:place]) and _fits(first[place + 1 :], second[len(second) - tail :])
    return len(one) == len(other) and all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


# What the functions of conditions say of tensors. Each reads the numbers once and waits for the device.
_REDUCIBLE = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class NoAnswerError(Exception):
    """No answer here: the module has no weight, the output no numbers. The condition does not hold then."""


def tensors_of(value: Any) -> list[torch.Tensor]:
    found = [tensor.detach() for tensor in tensors_in(value)]
    if not found:
        raise NoAnswerError
    return found


def the_tensor(value: Any) -> torch.Tensor:
    """For arithmetic, which is done with one tensor at a time."""
    return tensors_of(value)[0]


def _rows(value: Any) -> list[torch.Tensor]:
    """The numbers of each tensor, of a kind that every reduction knows; tensors without any are left out."""
    found = (values_of(tensor)[0] for tensor in tensors_of(value))
    rows = [row if row.dtype in _REDUCIBLE else row.to(torch.float64) for row in found if row is not None and len(row)]
    if not rows:
        raise NoAnswerError
    return rows


def _is_calm(tensor: torch.Tensor) -> bool:
    """A sum is ten times cheaper than isnan(): if it is finite, so is every element."""
    return math.isfinite(tensor.sum().item())


def has_nan(value: Any) -> bool:
    if isinstance(value, int | float):
        return math.isnan(value)
    return any(not _is_calm(part) and bool(part.isnan().any()) for part in _rows(value))


def has_inf(value: Any) -> bool:
    if isinstance(value, int | float):
        return math.isinf(value)
    return any(not _is_calm(part) and bool(part.isinf().any()) for part in _rows(value))


def is_finite(value: Any) -> bool:
    if isinstance(value, int | float):
        return math.isfinite(value)
    return all(_is_calm(part) or bool(part.isfinite().all()) for part in _rows(value))


def _together(value: Any) -> torch.Tensor:
    """All numbers in one row, in double precision where there are several tensors."""
    parts = _rows(value)
    return parts[0] if len(parts) == 1 else torch.cat([part.double() for part in parts])


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _std(value: Any) -> float:
    data = _wide(_together(value))
    if data.numel() < 2:
        raise NoAnswerError
    return data.std().item()


def _zeros(value: Any) -> float:
    data = _together(value)
    return 1.0 - torch.count_nonzero(data).item() / data.numel()


def _abs(value: Any) -> Any:
    return abs(value) if isinstance(value, int | float) else the_tensor(value).abs()


def _len(value: Any) -> int:
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        raise NoAnswerError
    return len(value) if hasattr(value, "__len__") else len(the_tensor(value))


MEASURES: dict[str, Callable[[Any], Any]] = {
    "nan": has_nan,
    "inf": has_inf,
    "finite": is_finite,
    "any": lambda value: any(bool(tensor.any()) for tensor in tensors_of(value)),
    "all": lambda value: all(bool(tensor.all()) for tensor in tensors_of(value)),
    "norm": lambda value: math.hypot(*(norm(tensor).item() for tensor in _rows(value))),
    "min": lambda value: _together(value).min().item(),
    "max": lambda value: _together(value).max().item(),
    "mean": lambda value: _wide(_together(value)).mean().item(),
    "std": _std,
    "sum": lambda value: _wide(_together(value)).sum().item(),
    "zeros": _zeros,
    "dim": lambda value: the_tensor(value).dim(),
    "numel": lambda value: sum(tensor.numel() for tensor in tensors_of(value)),
    "len": _len,
    "abs": _abs,
    "shape": lambda value: tuple(the_tensor(value).shape),
    "dtype": lambda value: str(the_tensor(value).dtype).removeprefix("torch."),
    "device": lambda value: str(the_tensor(value).device),
}


# What the names of a condition stand for at one moment; the same names are at hand at the prompt.
@dataclass
class ConditionNames:
    """One call of a module, one gradient or one loss."""

    step: int
    module: nn.Module | None = None
    path: str = ""
    loss: float | None = None
    tensors: dict[str, Any] = field(default_factory=dict)  # input, output, grad: those that there are

    def value(self, name: str) -> Any:
        found = _READ[name](self) if name in _READ else self.tensors.get(name)
        if found is None:
            raise NoAnswerError
        return found

    def parameter(self, name: str) -> torch.Tensor:
        """Of the module itself, parameter or buffer, without asking the module."""
        attributes = vars(self.module) if self.module is not None else {}
        for kind in ("_parameters", "_buffers"):
            found: torch.Tensor | None = attributes.get(kind, {}).get(name)
            if found is not None and not nn.parameter.is_lazy(found):
                return found
        raise NoAnswerError

    def at_hand(self) -> dict[str, Any]:
        names = {"module": self.module, **self.tensors, "step": self.step, "loss": self.loss}
        return {name: value for name, value in names.items() if value is not None}


_READ: dict[str, Callable[[ConditionNames], Any]] = {
    "step": lambda scene: scene.step,
    "loss": lambda scene: scene.loss,
    "module": lambda scene: type(scene.module).__name__,
    "path": lambda scene: scene.path,
    "training": lambda scene: scene.module.training if scene.module is not None else None,
    "weight": lambda scene: scene.parameter("weight"),
    "bias": lambda scene: scene.parameter("bias"),
}


def call_input(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`input`: the one thing a module was called with, several as a tuple, named ones under their names."""
    if keywords:
        return {**dict(enumerate(arguments)), **keywords}
    return arguments[0] if len(arguments) == 1 else arguments
