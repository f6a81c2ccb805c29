"""A shelf with one run on it that stays as it is: what a report is made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.run_shelf import RunShelf

_Answer = TypeVar("_Answer")


class SingleShelf(RunShelf):
    def __init__(self, run: Run) -> None:
        super().__init__({})
        self._run = run

    def names(self) -> list[str]:
        return [self._run.name]

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        if name != self._run.name:
            raise UsageError(f"This file holds the run {self._run.name!r} and not {name!r}.")
        return question(self._run)

    def pulse(self, name: str) -> dict[str, Any]:
        return {"version": "report", "growing": False}
