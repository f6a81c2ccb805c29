"""Reads run logs, whole or while they grow; other event files in the folder give their scalars."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from torch_debugger.log.decoder_records import Decoder
from torch_debugger.log.decoder_values import FOREIGN, EventParser
from torch_debugger.log.event_files import event_files as event_files
from torch_debugger.log.event_files import rank_in_name
from torch_debugger.log.tfrecord import FRAME_BYTES, read_frames, unframe
from torch_debugger.records import Record
from torch_debugger.system.clocks import time

_CHUNK_BYTES = 1 << 20
_KEPT_OPEN = 256  # files; a process may have 1,024, and so many ranks write twice as many files
_LOOK_EVERY_S = 1.0  # at the others: writers write once a second, and each look is a question to a file system


def read_log(folder: str | os.PathLike[str]) -> Iterator[Record]:
    """Every record of a folder, file by file in the order of their names. A file that is torn or damaged
    is read up to there, and what a later file of the folder replaces is left out."""
    for _, record in read_log_of_ranks(folder):
        yield record


def read_log_of_ranks(folder: str | os.PathLike[str]) -> Iterator[tuple[int | None, Record]]:
    """As `read_log`, each with the rank of its writer; None where the name of the file does not say it."""
    paths = event_files(folder)
    purged = first_purged_steps(paths)
    for path in paths:
        rank, file = rank_in_name(path), _open(path)
        if file is not None:
            with file:
                for record in _GrowingFile(file, Decoder()).read():
                    if path not in purged or getattr(record, "step", -math.inf) < purged[path]:
                        yield rank, record


class LogFollower:
    """Reads a log while it is written: every record, also those that a later file replaces. Files stay
    open: one deleted in mid-run is still read to its end. Of very many files, as a thousand ranks write them,
    only the first do, and the others are looked at more rarely."""

    def __init__(self, folder: str | os.PathLike[str], make_decoder: Callable[[], Decoder] = Decoder) -> None:
        self._folder = folder
        self._make_decoder = make_decoder
        self._files: dict[str, _GrowingFile] = {}
        self._looked_s = 0.0  # when all files were looked at

    def poll(self) -> list[Record]:
        """The records that came since the last call; a record half written waits for the next one."""
        return list(self.read_on())

    def read_on(self) -> Iterator[Record]:
        """As `poll`, one after the other: to be gone through to its end before the next call."""
        for _, record in self.read_ranks_on():
            yield record

    def read_ranks_on(self, *, now_and_then: bool = False) -> Iterator[tuple[int | None, Record]]:
        """As `read_on`, each with the rank of its writer; None where the name of the file does not say it.
        `now_and_then` is for whoever asks many times a second: files beyond the first are left for later."""
        is_time = not now_and_then or time.monotonic() - self._looked_s > _LOOK_EVERY_S
        for path in event_files(self._folder) if is_time or len(self._files) < _KEPT_OPEN else ():
            if path not in self._files and (file := _open(path)) is not None:
                stays_open = len(self._files) < _KEPT_OPEN
                if not stays_open:
                    file.close()
                self._files[path] = _GrowingFile(file, self._make_decoder(), "" if stays_open else path)
        if is_time:
            self._looked_s = time.monotonic()
        for path in sorted(path for path, file in self._files.items() if is_time or not file.path):
            rank = rank_in_name(path)
            for record in self._files[path].read():
                yield rank, record

    def close(self) -> None:
        for growing in self._files.values():
            growing.file.close()
        self._files.clear()


class _GrowingFile:
    """One event file, and how far it has been read."""

    def __init__(self, file: io.FileIO, decoder: Decoder, path: str = "") -> None:
        self.file = file
        self.path = path  # of a file that is opened only where it has grown
        self._offset = 0
        self._decoder = decoder

    def read(self) -> Iterator[Record]:
        if not self.path:
            yield from self._read()
        elif _size(self.path) > self._offset and (file := _open(self.path)) is not None:
            with file:
                self.file = file
                yield from self._read()

    def _read(self) -> Iterator[Record]:
        with suppress(OSError):  # of the file; whoever takes the records raises elsewhere
            for place, payload in read_frames(self.file, self._offset, _CHUNK_BYTES):
                self._offset = place + len(payload) + FRAME_BYTES
                yield from self._decoder.decode(payload)


def _open(path: str) -> io.FileIO | None:
    try:
        return io.FileIO(path)
    except OSError:
        return None


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


# Which steps of a folder's older files a later file takes back: it continues a run that had crashed.
_HEAD_BYTES = 1024
_FIRST_EVENTS = 3  # all writers put a restart right behind the file's version


def first_purged_steps(paths: Sequence[str]) -> dict[str, int]:
    """For files in the order of their names: the step from which a later file replaces what they hold.

    A restarted rank replaces its own points and not those of other ranks, which have files beside its own.
    """
    purged: dict[str, int] = {}
    later: dict[int | None, int] = {}
    for path in reversed(paths):
        rank = rank_in_name(path)
        if rank in later:
            purged[path] = later[rank]
        restart = restart_step(path)
        if restart is not None:
            later[rank] = min(restart, later.get(rank, restart))
    return purged


def restart_step(path: str) -> int | None:
    """The step with which a file begins again, if it does."""
    try:
        with open(path, "rb") as file:
            payloads = unframe(file.read(_HEAD_BYTES))[:_FIRST_EVENTS]
        events = [EventParser().parse(payload) for payload in payloads]
    except (OSError, *FOREIGN):
        return None
    return next((event.step for event in events if event.starts_session), None)
