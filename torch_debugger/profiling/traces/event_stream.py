"""The events of a trace one after the other, however large the file is: it is never in memory as a whole."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import IO, Any

from torch_debugger.errors import UsageError

EXPECTED = "a trace of torch.profiler: what tensorboard_trace_handler or export_chrome_trace wrote"
_CHUNK = 1 << 20  # characters
_MOST_BEFORE = 64 << 20  # characters in front of the events
_LARGEST_EVENT = 16 << 20  # characters
_MOST_CHARACTERS = 8 << 30  # unpacked; a small packed file may hold as many as it likes
_KEY = '"traceEvents"'


class EventStream:
    """Iterated once. Afterwards `cut` says whether the file ended in the middle of its events."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._place = 0
        self._read = 0
        self._ended = False
        self.cut = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            with _opened(self._path) as file:
                yield from self._events(file)
        except OSError as error:  # also of gzip, for a packed file that is damaged
            raise UsageError(f"{self._path} cannot be read: {error.strerror or error}.") from error

    def _events(self, file: IO[str]) -> Iterator[dict[str, Any]]:
        self._find_events(file)
        while True:
            self._skip(file, " \t\r\n,")
            if self._place >= len(self._text):
                self.cut = True
                return
            if self._text[self._place] == "]":
                return
            event = self._next(file)
            if event is None:
                self.cut = True
                return
            if type(event) is dict:
                yield event

    def _find_events(self, file: IO[str]) -> None:
        """Past the bracket that opens them; a trace may also be the bare list."""
        self._more(file)
        self._skip(file, " \t\r\n\ufeff")
        if self._text[self._place : self._place + 1] == "[":
            self._place += 1
            return
        if self._text[self._place : self._place + 1] != "{":
            raise UsageError(f"{self._path} is no JSON. Expected is {EXPECTED}.")
        while (found := self._text.find(_KEY)) < 0:
            if len(self._text) > _MOST_BEFORE or not self._more(file):
                raise UsageError(f"{self._path} has no `traceEvents`. Expected is {EXPECTED}.")
        self._place = found + len(_KEY)
        self._skip(file, " \t\r\n:")
        if self._text[self._place : self._place + 1] != "[":
            raise UsageError(f"The `traceEvents` of {self._path} are no list. Expected is {EXPECTED}.")
        self._place += 1

    def _next(self, file: IO[str]) -> Any:
        """None where the file ends, or is no JSON any more, before the event does."""
        while True:
            try:
                event, self._place = self._decoder.raw_decode(self._text, self._place)
                return event
            except (json.JSONDecodeError, RecursionError):
                if len(self._text) - self._place > _LARGEST_EVENT or not self._more(file):
                    return None

    def _skip(self, file: IO[str], blanks: str) -> None:
        while True:
            while self._place < len(self._text) and self._text[self._place] in blanks:
                self._place += 1
            if self._place < len(self._text) or not self._more(file):
                return

    def _more(self, file: IO[str]) -> bool:
        if self._ended or self._read > _MOST_CHARACTERS:
            return False
        try:
            came = file.read(_CHUNK)
        except (EOFError, zlib.error):  # a packed file without its end
            came = ""
        self._ended = not came
        self._read += len(came)
        self._text = self._text[self._place :] + came
        self._place = 0
        return bool(came)


def _opened(path: str) -> IO[str]:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return open(path, encoding="utf-8", errors="replace")
