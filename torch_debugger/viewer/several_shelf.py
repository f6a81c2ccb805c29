"""A shelf with some runs on it that stay as they are: what a report of several runs is made from."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from torch_debugger.archive.folders import Found
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.run_finder import Shown
from torch_debugger.viewer.run_lists import details_of, rows_of
from torch_debugger.viewer.run_shelf import RunShelf

_Answer = TypeVar("_Answer")


class SeveralShelf(RunShelf):
    """In the order in which they were named."""

    def __init__(self, runs: Sequence[Run]) -> None:
        super().__init__({})
        self._runs = {run.name: run for run in runs}
        self._shown = {run.name: Shown(_found(run), os.path.dirname(run.folder)) for run in runs}
        found = {name: shown.found for name, shown in self._shown.items()}
        rows_of(self).tell(found, math.inf)  # whole, as nobody asks a file again
        details_of(self).tell(found, list(found), math.inf)

    def names(self) -> list[str]:
        return list(self._runs)

    def all_shown(self) -> dict[str, Shown]:
        return self._shown

    def ask(self, name: str, question: Callable[[Run], _Answer]) -> _Answer:
        if name not in self._runs:
            raise UsageError(f"This file does not hold the run {name!r}.")
        return question(self._runs[name])

    def pulse(self, name: str) -> dict[str, Any]:
        return {"version": "report", "growing": False}


def _found(run: Run) -> Found:
    return Found(run.name, run.folder, run.changed, run.read_bytes)
