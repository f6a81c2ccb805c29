"""A run as another tracker kept it: numbers by step, hyperparameters, how it ended."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch_debugger.records import LoggedSummary, Scalars
from torch_debugger.records.run import HparamValue

NO_STEP = "rows left out, as their step is no whole number of 64 bits"


class NoStepError(ValueError):
    """What stands for a step is no whole number, or does not fit in a log."""


@dataclass
class ForeignRun:
    identity: str  # the tracker and its number for the run: a second import is of the same
    name: str
    points: list[Scalars] = field(default_factory=list)
    summaries: list[LoggedSummary] = field(default_factory=list)  # images, histograms, tables
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    outcome: str = ""  # finished | crashed | killed, or nothing where it is not said
    result: str = ""  # the result.json that torch-debugger gave to the tracker
    damaged: list[str] = field(default_factory=list)  # what of it could not be read, a sentence each
    left_out: Counter[str] = field(default_factory=Counter)  # what there may be much of: how often

    def faults(self) -> list[str]:
        return self.damaged + [f"{what}: {count:,}." for what, count in self.left_out.items()]


def step_of(value: Any) -> int:
    try:
        step = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise NoStepError from error
    if not -(1 << 63) <= step < 1 << 63 or (isinstance(value, float) and step != value):
        raise NoStepError
    return step


# Files of a folder that somebody else has written: regular ones that lie in it, and nothing they point to.
#
# A link may lead to any file of this machine, whose text would land in a log; a FIFO would be waited for.
LARGEST_BYTES = 1 << 30
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotInsideError(OSError):
    """A link, a FIFO, a device, a file of another folder, or one that is too large."""


class ImportedFolder:
    """A folder with the list of what of it cannot be read: a sentence is added for each, the rest is read."""

    def __init__(self, root: Path, damaged: list[str]) -> None:
        self._root, self._damaged = root, damaged

    def files(self, folder: Path) -> Iterator[Path]:
        """All but folders, however deep, by name: also what cannot be read. Links to folders are not followed,
        and named unless they lead to what is walked anyway."""

        def not_listed(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                self.leave_out(error.filename, reason_of(error))

        if folder != self._root and folder.is_symlink():
            self.leave_out(folder, "it is a link")
            return
        walked = os.path.realpath(folder)
        for here, folders, names in os.walk(folder, onerror=not_listed):
            folders.sort()
            for path in map(Path(here).joinpath, folders):
                if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(walked):
                    self.leave_out(path, "it is a link")
            yield from map(Path(here).joinpath, sorted(names))

    def text(self, path: Path, most: int) -> str | None:
        """None where it is not there, or is left out."""
        content = self.content(path, most)
        return None if content is None else content.decode("utf-8", "replace")

    def content(self, path: Path, most: int = LARGEST_BYTES) -> bytes | None:
        try:
            return read_inside(self._root, path, most) if os.path.lexists(path) else None
        except OSError as error:
            self.leave_out(path, reason_of(error))
            return None

    def leave_out(self, path: Path | str, reason: str) -> None:
        self._damaged.append(f"{path} is left out: {reason}.")


def refuse_irregular(path: Path) -> None:
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        raise NotInsideError("it is a link" if stat.S_ISLNK(mode) else "it is no regular file")


def read_inside(root: Path, path: Path, most: int = LARGEST_BYTES) -> bytes:
    """The bytes of a regular file below `root`."""
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise NotInsideError("it lies in another folder")
    refuse_irregular(path)
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise NotInsideError(f"it is larger than {most:,} bytes")
        return file.read(most)


def reason_of(error: OSError) -> str:
    """Without the path, which the sentence names already."""
    return error.strerror or str(error)
