"""Which files of a folder are traces: by their names, as `tensorboard_trace_handler` gives them."""

from __future__ import annotations

import codecs
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from torch_debugger.system.errors import UsageError

_ENDS = (".pt.trace.json", ".pt.trace.json.gz")
_OTHER_ENDS = ("trace.json", "trace.json.gz")  # of a file that somebody names by hand, and of ours
_MOST_FOLDERS = 20_000


def is_trace(path: str) -> bool:
    return path.endswith((*_ENDS, *_OTHER_ENDS)) and os.path.isfile(path)


def find_traces(folder: str) -> list[str]:
    """Below it, the newest first. Only names that the handler gives: a folder of runs holds traces of ours."""
    found: list[tuple[float, str]] = []
    for walked, (inside, _, files) in enumerate(os.walk(folder)):
        if walked > _MOST_FOLDERS:
            break
        paths = [os.path.join(inside, name) for name in files if name.endswith(_ENDS)]
        found += [(os.path.getmtime(path), path) for path in paths if os.path.isfile(path)]
    return [path for _, path in sorted(found, reverse=True)]


# The events of a trace one after the other, however large the file is: it is never in memory as a whole.
EXPECTED = "a trace of torch.profiler: what tensorboard_trace_handler or export_chrome_trace wrote"
_CHUNK = 1 << 20  # bytes
_WITH_GZIP_HEADER = 31  # as zlib numbers it
_MOST_BEFORE = 64 << 20  # characters in front of the events
_LARGEST_EVENT = 16 << 20  # characters
_MOST_BLANKS = 1 << 20  # in a row
_MOST_STRAY = 100_000  # values between the events that are none
_MOST_HEADER = 1 << 20  # characters
_MOST_CHARACTERS = 4 << 30  # unpacked; a small packed file may hold as many as it likes
_KEY = '"traceEvents"'
_BEFORE, _AFTER_KEY, _BETWEEN = (re.compile(f"[{blanks}]*") for blanks in (r"\s\ufeff", r"\s:", r"\s,"))
_MISSING = object()


class EventStream:
    """Iterated once. Afterwards `cut` says whether the file ended in the middle of its events, and `header` is
    the text in front of them. `on_share` hears how much of the file has been read, from 0 to 1."""

    def __init__(self, path: str, on_share: Callable[[float], None] = lambda share: None) -> None:
        self._path = path
        self._on_share = on_share
        self.header = ""
        self._decoder = json.JSONDecoder(strict=False)  # names may hold a tab
        self._pieces: Iterator[str] = iter(())
        self._text = ""
        self._place = 0
        self._read = 0
        self.cut = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            self._pieces = _pieces(self._path, self._on_share)
            yield from self._events()
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror or error}.") from error

    def _events(self) -> Iterator[dict[str, Any]]:
        self._find_events()
        stray = 0
        while True:
            if not self._skip(_BETWEEN) or stray > _MOST_STRAY:
                self.cut = True
                return
            if self._text[self._place] == "]":
                return
            event = self._next()
            if event is _MISSING:
                self.cut = True
                return
            if type(event) is dict:
                yield event
            else:
                stray += 1

    def _find_events(self) -> None:
        """Past the bracket that opens them; a trace may also be the bare list."""
        self._more()
        begins = self._skip(_BEFORE)
        if begins == "[":
            self._place += 1
            return
        if begins != "{":
            raise UsageError(f"{self._path} is no JSON. Expected is {EXPECTED}.")
        while (found := self._text.find(_KEY)) < 0:
            self.header = (self.header + self._text[self._place :])[:_MOST_HEADER]
            self._place = max(self._place, len(self._text) - len(_KEY))  # what is in front is not kept
            if self._read > _MOST_BEFORE or not self._more():
                raise UsageError(f"{self._path} has no `traceEvents`. Expected is {EXPECTED}.")
        self.header = (self.header + self._text[self._place : found])[:_MOST_HEADER]
        self._place = found + len(_KEY)
        if self._skip(_AFTER_KEY) != "[":
            raise UsageError(f"The `traceEvents` of {self._path} are no list. Expected is {EXPECTED}.")
        self._place += 1

    def _next(self) -> Any:
        """Missing where the file ends, or is no JSON any more, before the event does."""
        while True:
            try:
                event, self._place = self._decoder.raw_decode(self._text, self._place)
                return event
            except (ValueError, RecursionError):  # ValueError also for a number of 5,000 digits
                if len(self._text) - self._place > _LARGEST_EVENT or not self._more():
                    return _MISSING

    def _skip(self, blanks: re.Pattern[str]) -> str:
        """The character behind them; empty where there is none, or nothing but blanks for very long."""
        skipped = 0
        while True:
            found = blanks.match(self._text, self._place)
            skipped += found.end() - self._place if found is not None else 0
            self._place = found.end() if found is not None else self._place
            if self._place < len(self._text):
                return self._text[self._place]
            if skipped > _MOST_BLANKS or not self._more():
                return ""

    def _more(self) -> bool:
        if self._read > _MOST_CHARACTERS:
            return False
        came = next(self._pieces, "")
        self._read += len(came)
        self._text = self._text[self._place :] + came
        self._place = 0
        return bool(came)


def _pieces(path: str, on_share: Callable[[float], None] = lambda share: None) -> Iterator[str]:
    """Of a packed file without its end, what can be unpacked."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    size = max(1, os.path.getsize(path))
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        for piece in _unpacked(file) if packed else iter(lambda: file.read(_CHUNK), b""):
            on_share(min(1.0, file.tell() / size))
            yield decode(piece)


def _unpacked(file: IO[bytes]) -> Iterator[bytes]:
    unpacking = zlib.decompressobj(_WITH_GZIP_HEADER)
    while came := unpacking.unconsumed_tail or unpacking.unused_data or file.read(_CHUNK // 8):
        if unpacking.eof:  # another part follows: `cat a.gz b.gz`
            unpacking = zlib.decompressobj(_WITH_GZIP_HEADER)
        try:
            piece = unpacking.decompress(came, _CHUNK)
        except zlib.error:
            return
        if piece:  # an empty one would be taken for the end
            yield piece


# What stands in front of a trace's events: the devices, the rank, and how the profiler was set up.
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Header:
    device_name: str = ""
    capability: tuple[int, int] = (0, 0)
    device_bytes: int = 0
    rank: int = -1  # -1: the trace does not say
    world_size: int = 0
    backend: str = ""


def read_header(text: str) -> Header:
    """The text may be cut anywhere, and may hold anything."""
    devices, ranks = _value(text, "deviceProperties"), _value(text, "distributedInfo")
    first = devices[0] if type(devices) is list and devices and type(devices[0]) is dict else {}
    ranks = ranks if type(ranks) is dict else {}
    return Header(
        str(first.get("name") or "")[:100],
        (_whole(first.get("computeMajor")), _whole(first.get("computeMinor"))),
        _whole(first.get("totalGlobalMem")),
        _whole(ranks.get("rank"), -1),
        _whole(ranks.get("world_size")),
        str(ranks.get("backend") or "")[:40],
    )


def _value(text: str, key: str) -> Any:
    found = text.find(f'"{key}"')
    colon = text.find(":", found) if found >= 0 else -1
    if colon < 0:
        return None
    begin = colon + 1 + len(text[colon + 1 :]) - len(text[colon + 1 :].lstrip())
    try:
        return _DECODER.raw_decode(text, begin)[0]
    except (ValueError, RecursionError):
        return None


def _whole(value: Any, otherwise: int = 0) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else otherwise
