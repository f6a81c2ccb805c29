"""Validation losses that a script computes by functions and keeps in variables: val_loss.

Read when training goes on after an evaluation; a script that has no such variable is asked ever less often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import FrameType
from typing import Any

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.kinds import own_attributes
from torch_debugger.anatomy.naming import scopes
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch

_SETS = r"(val|valid|validation|dev|test|eval|holdout)"
_NAME = re.compile(rf"{_SETS}_?(\w+_)?loss(es)?|loss(es)?_{_SETS}|vloss|v_loss", re.IGNORECASE)
_MOST = 2000  # readings


class EvaluatedLosses:
    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self._evaluated = False
        self._readings = 0
        self._pause, self._paused = 0, 0  # evaluations that are let pass, and those that were
        roots.on_evaluation.append(self._see_evaluation)
        roots.on_call.append(self._see_training)

    def _see_evaluation(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self._evaluated = True

    def _see_training(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if not self._evaluated:
            return
        self._evaluated = False
        self._paused += 1
        if self._paused > self._pause and self._readings < _MOST:
            self._readings += 1
            self._paused = 0
            found = _losses(user_frame(2))
            self._pause = 0 if found else 2 * self._pause + 1
            self.watch.scalars |= {f"eval/{name}": value for name, value in found.items()}


def _losses(frame: FrameType | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for names in scopes(frame):
        for name, value in _named(names):
            number = _last_number(value)
            if number is not None:
                found.setdefault(name, number)
    return found


def _named(names: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Variables of such names, and entries and attributes of them: history["val_loss"], self.val_loss."""
    for name, value in names:
        inside = value if type(value) is dict else own_attributes(value) if name == "self" else {}
        held = [(key, item) for key, item in list(inside.items())[:64] if isinstance(key, str)]
        yield from ((each, item) for each, item in [(name, value), *held] if _NAME.fullmatch(each))


def _last_number(value: Any) -> float | None:
    if type(value) is list and value:
        value = value[-1]
    return value if type(value) is float else None
