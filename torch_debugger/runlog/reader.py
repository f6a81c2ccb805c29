"""Reads run logs, whole or while they grow; other event files in the folder give their scalars."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator

from torch_debugger.records import Record
from torch_debugger.runlog.decoder import Decoder
from torch_debugger.runlog.frames import unframe
from torch_debugger.runlog.logfile import rank_in_name
from torch_debugger.runlog.purges import first_purged_steps

_CHUNK_BYTES = 1 << 20


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
                for record in _before(purged.get(path), _GrowingFile(file, Decoder()).read()):
                    yield rank, record


def _before(step: int | None, records: Iterator[Record]) -> Iterator[Record]:
    if step is None:
        return records
    return (record for record in records if getattr(record, "step", step - 1) < step)


class LogFollower:
    """Reads a log while it is written: every record, also those that a later file replaces. Files stay
    open: one deleted in mid-run is still read to its end."""

    def __init__(self, folder: str | os.PathLike[str], make_decoder: Callable[[], Decoder] = Decoder) -> None:
        self._folder = folder
        self._make_decoder = make_decoder
        self._files: dict[str, _GrowingFile] = {}

    def poll(self) -> list[Record]:
        """The records that came since the last call; a record half written waits for the next one."""
        return list(self.read_on())

    def read_on(self) -> Iterator[Record]:
        """As `poll`, one after the other: to be gone through to its end before the next call."""
        for _, record in self.read_ranks_on():
            yield record

    def read_ranks_on(self) -> Iterator[tuple[int | None, Record]]:
        """As `read_on`, each with the rank of its writer; None where the name of the file does not say it."""
        for path in event_files(self._folder):
            if path not in self._files and (file := _open(path)) is not None:
                self._files[path] = _GrowingFile(file, self._make_decoder())
        for path in sorted(self._files):
            rank = rank_in_name(path)
            for record in self._files[path].read():
                yield rank, record

    def close(self) -> None:
        for growing in self._files.values():
            growing.file.close()
        self._files.clear()


class _GrowingFile:
    """One event file, and how far it has been read."""

    def __init__(self, file: io.FileIO, decoder: Decoder) -> None:
        self.file = file
        self._offset = 0
        self._decoder = decoder

    def read(self) -> Iterator[Record]:
        size = _CHUNK_BYTES
        while data := self._bytes_at_offset(size):
            frames = unframe(data)
            self._offset += frames.consumed
            for payload in frames.payloads:
                yield from self._decoder.decode(payload)
            if frames.damaged or (len(data) < size and not frames.consumed):
                return
            size = _CHUNK_BYTES if frames.consumed else 2 * size  # a frame larger than what was read

    def _bytes_at_offset(self, size: int) -> bytes:
        try:
            self.file.seek(self._offset)
            return self.file.read(size) or b""
        except OSError:
            return b""


def _open(path: str) -> io.FileIO | None:
    try:
        return io.FileIO(path)
    except OSError:
        return None


def event_files(folder: str | os.PathLike[str]) -> list[str]:
    """In the order of their names, which is that of their making."""
    try:
        names = sorted(name for name in os.listdir(folder) if "tfevents" in name)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names]
