"""The mouth of the river: whatever takes records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from torch_debugger.records import Record


class Sink(Protocol):
    """A log writer, a judge, a list in a test. `add` is called from the training thread:
    it must return quickly and must not raise. One that only judges and keeps nothing has `keeps = False`."""

    def add(self, record: Record) -> None: ...


@runtime_checkable
class Keeper(Protocol):
    """A sink that writes a little later what it was given, and at once if it is asked to."""

    def flush(self) -> None: ...


# The run that is watched in this process: where a record goes that the script itself makes, such as a picture.
#
# Whoever lays the pipes sets it; makers that know nothing of sessions ask for it.
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
