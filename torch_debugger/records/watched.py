"""The run that is watched in this process: where a record goes that the script itself makes, such as a picture.

Whoever lays the pipes sets it; makers that know nothing of sessions ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from torch_debugger.records import Record


class Keeping(Protocol):
    @property
    def keeps(self) -> bool:
        """Whether a log, a tracker or a sink of the user's keeps what is added."""


class WatchedRun(Protocol):
    @property
    def step(self) -> int:
        """The step under way, counted from 1."""

    @property
    def sinks(self) -> Keeping: ...

    @property
    def emit(self) -> Callable[[Record], None]: ...


_watched: WatchedRun | None = None


def set_watched_run(run: WatchedRun | None) -> None:
    global _watched
    _watched = run


def watched_run() -> WatchedRun | None:
    return _watched
