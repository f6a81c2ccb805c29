"""One breakpoint: a condition, the modules it is about, and what has come of it."""

from __future__ import annotations

import fnmatch
import weakref
from collections.abc import Callable
from types import TracebackType

from torch import nn

from torch_debugger.breakpoints.conditions import Condition
from torch_debugger.breakpoints.moments import moment_of


class Breakpoint:
    """The handle of a breakpoint: `.remove()` takes it off, and so does the end of its `with` block."""

    def __init__(
        self,
        condition: Condition,
        at: str | None,
        model: nn.Module | None,
        take_off: Callable[[Breakpoint], None],
    ) -> None:
        self.condition = condition
        self.at = at
        self.moment = moment_of(condition, at)
        self.hits = 0  # how often the condition held
        self.removed = False
        self.stops = True  # False once there was no terminal to stop at: then hits are counted
        self.matched = False  # whether any module is meant by it
        self.last_step = 0  # in which it held; conditions on the step alone hold once a step
        self._model = weakref.ref(model) if model is not None else None
        self._take_off = take_off

    def __str__(self) -> str:
        return f"{self.condition.text} @ {self.at}" if self.at is not None else self.condition.text

    def __repr__(self) -> str:
        state = "removed" if self.removed else "set"
        return f"<breakpoint `{self}` {state}, {self.hits} hits>"

    def remove(self) -> None:
        if not self.removed:
            self.removed = True
            self._take_off(self)

    def __enter__(self) -> Breakpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def is_about(self, module: nn.Module, path: str) -> bool:
        """`encoder.*` means net.encoder.0 too: the model's own name may be left out."""
        if self._model is not None:
            model = self._model()
            if model is None or not any(part is module for part in model.modules()):
                return False
        inside = path.partition(".")[2]
        glob = self.at
        found = glob is None or any(fnmatch.fnmatchcase(name, glob) for name in (path, inside) if name)
        self.matched = self.matched or found
        return found
