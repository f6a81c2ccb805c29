"""What a FileWriter writes to: a log, none, or one that nobody will close any more."""

from __future__ import annotations

from typing import Protocol

from torch_debugger.records import Record


class Log(Protocol):
    ended: bool  # what is added is refused: it belongs into another log

    def add(self, record: Record) -> bool: ...
    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool: ...
    def has_room(self, size_bytes: int) -> bool: ...
    def flush(self) -> None: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


class NoLog:
    """Takes everything and keeps nothing."""

    ended = False

    def add(self, record: Record) -> bool:
        return True

    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool:
        return True

    def has_room(self, size_bytes: int) -> bool:
        return True

    def flush(self) -> None: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


class LateLog:
    """The log of a program that is ending. Nobody will close it, so every call waits until it is written."""

    ended = False

    def __init__(self, log: Log) -> None:
        self._log = log
        self.flush, self.end, self.close = log.flush, log.end, log.close

    def add(self, record: Record) -> bool:
        taken = self._log.add(record)
        self.flush()
        return taken

    def add_scalar(self, tag: str, value: float, step: int, time: float) -> bool:
        taken = self._log.add_scalar(tag, value, step, time)
        self.flush()
        return taken

    def has_room(self, size_bytes: int) -> bool:
        return self._log.has_room(size_bytes)
