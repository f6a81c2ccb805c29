"""Columns that are too large to stay in memory: a log of many gigabytes must not take as many of memory."""

from __future__ import annotations

import tempfile
from typing import NamedTuple

import numpy as np

from torch_debugger.archive.curve import Points

POINT_BYTES = 32  # four numbers of eight bytes
_KINDS = (np.int64, np.int64, np.float64, np.float64)  # places, steps, values, times


class Spilled(NamedTuple):
    """Where points stand in the file."""

    offset: int
    points: int


class Spill:
    """A file without a name, which is gone with the process or with whoever holds this."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="torch-debugger-")  # noqa: SIM115 - closed when forgotten
        self._end = 0

    def keep(self, points: Points) -> Spilled:
        kept = Spilled(self._end, len(points.places))
        self._file.seek(self._end)
        for column, kind in zip(points, _KINDS, strict=True):
            self._file.write(np.ascontiguousarray(column, kind).data)
        self._end += kept.points * POINT_BYTES
        return kept

    def read(self, kept: Spilled) -> Points:
        self._file.seek(kept.offset)
        raw = self._file.read(kept.points * POINT_BYTES)
        places, steps = np.frombuffer(raw, np.int64, 2 * kept.points).reshape(2, kept.points)
        values, times = np.frombuffer(raw, np.float64, 2 * kept.points, 16 * kept.points).reshape(
            2, kept.points
        )
        return Points(places, steps, values, times)
