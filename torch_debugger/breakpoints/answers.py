"""Answers a condition for one scene. The tree is walked by us; no text is ever run."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Protocol

import torch

from torch_debugger.breakpoints.measures import MEASURES, NoAnswerError, the_tensor
from torch_debugger.breakpoints.tree import Call, Item, Junction, Literal, Name, Node

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


class Scene(Protocol):
    """What names stand for at one moment; NoAnswerError where they stand for nothing."""

    def value(self, name: str) -> Any: ...
    def parameter(self, name: str) -> torch.Tensor: ...


def holds(tree: Node, scene: Scene) -> bool:
    """Whether the condition holds; where it has no answer, it does not."""
    try:
        with torch.no_grad():
            return bool(_answer(tree, scene))
    except NoAnswerError:
        return False


def _answer(node: Node, scene: Scene) -> Any:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Name):
        return scene.value(node.word)
    if isinstance(node, Call):
        return _call(node, scene)
    if isinstance(node, Item):
        return _item(_answer(node.whole, scene), _answer(node.key, scene))
    if isinstance(node, Junction):
        return _join(node, scene)
    return _operate(node.symbol, [_answer(part, scene) for part in node.parts])


def _join(node: Junction, scene: Scene) -> bool:
    """A part without an answer leaves it to the others: `loss > 5 or nan(output)` before there is a loss."""
    decisive = node.word == "or"
    unknown = False
    for part in node.parts:
        try:
            if bool(_answer(part, scene)) is decisive:
                return decisive
        except NoAnswerError:
            unknown = True
    if unknown:
        raise NoAnswerError
    return not decisive


def _call(node: Call, scene: Scene) -> Any:
    argument = _answer(node.argument, scene)
    return scene.parameter(argument) if node.function == "parameter" else MEASURES[node.function](argument)


def _item(whole: Any, key: Any) -> Any:
    if isinstance(whole, torch.Tensor) and isinstance(key, str):
        raise NoAnswerError
    try:
        return whole[int(key) if isinstance(key, float) else key]
    except (LookupError, TypeError):
        raise NoAnswerError from None


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
            return _fits(first[:place], second[:place]) and _fits(
                first[place + 1 :], second[len(second) - tail :]
            )
    return len(one) == len(other) and all(
        a is None or b is None or a == b for a, b in zip(one, other, strict=True)
    )
