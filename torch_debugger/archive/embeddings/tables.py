"""The points and labels of an embedding from their files; of very many points some, evenly chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.embeddings.listing import Embedding, read_file
from torch_debugger.errors import DebuggerError

_MOST_BYTES = 1_000_000_000
_MOST_LABEL_BYTES = 100_000_000
_MOST_NUMBERS = 20_000_000
_MOST_COLUMNS, _LONGEST_LABEL = 20, 200
_FLOAT_BYTES = 4


@dataclass(frozen=True, eq=False)
class Points:
    matrix: NDArray[np.float32] = field(repr=False)  # [points, dimensions]
    places: NDArray[np.int64] = field(repr=False)  # of each among all
    all_points: int


@dataclass(frozen=True)
class Column:
    name: str  # empty where the file names none
    values: list[str]


def read_points(folder: str, embedding: Embedding, most: int) -> Points:
    """Raises DebuggerError where there are none to read."""
    if not embedding.points:
        raise DebuggerError(
            f"The points of {embedding.tag!r} are in a TensorFlow checkpoint, which is not read: "
            "there is no tensor_path."
        )
    data = read_file(folder, embedding.points, _MOST_BYTES)
    found = _raw(data, embedding, most) if _is_raw(data, embedding) else _table(data, embedding, most)
    if not found.matrix.size:
        raise DebuggerError(f"{embedding.points} holds no points.")
    return found


def _is_raw(data: bytes, embedding: Embedding) -> bool:
    """As TensorBoard tells them apart: by the first line being text or not. A zero byte is in no table."""
    first = data[:4096]
    return b"\x00" in first or (embedding.points.endswith(".bytes") and len(embedding.shape) == 2)


def _raw(data: bytes, embedding: Embedding, most: int) -> Points:
    shape = embedding.shape
    if len(shape) != 2 or shape[0] * shape[1] * _FLOAT_BYTES != len(data):
        raise DebuggerError(
            f"{embedding.points} has {len(data):,} bytes, which are no float32 numbers of shape {list(shape)}."
        )
    whole = np.frombuffer(data, "<f4").reshape(shape)
    places = _evenly(shape[0], _rows(most, shape[1]))
    return Points(np.array(whole[places], np.float32), places, shape[0])


def _table(data: bytes, embedding: Embedding, most: int) -> Points:
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        raise DebuggerError(f"{embedding.points} holds no points.")
    width = len(lines[0].split())
    places = _evenly(len(lines), _rows(most, width))
    text = [lines[place].decode("utf-8", "replace") for place in places]
    try:
        matrix = np.loadtxt(text, dtype=np.float32, comments=None, ndmin=2)
    except (ValueError, OverflowError) as error:
        raise DebuggerError(f"{embedding.points} is no table of numbers ({str(error)[:200]}).") from error
    return Points(matrix, places, len(lines))


def read_labels(folder: str, embedding: Embedding, points: Points) -> list[Column]:
    """The labels of these points. Raises DebuggerError where they do not fit."""
    if not embedding.labels:
        return []
    data = read_file(folder, embedding.labels, _MOST_LABEL_BYTES)
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    count = points.all_points
    if len(lines) not in (count, count + 1):
        lines = [line for line in lines if line.strip()]
    header = lines[0].split("\t") if len(lines) == count + 1 else []
    rows = lines[1:] if header else lines
    if len(rows) != count:
        raise DebuggerError(
            f"{embedding.labels} has {len(rows):,} labels for {count:,} points, so none are shown."
        )
    chosen = [rows[place].split("\t") for place in points.places]
    columns = min(_MOST_COLUMNS, max([len(header), *(len(row) for row in chosen[:100])]))
    return [
        Column(
            header[at] if at < len(header) else "",
            [(row[at] if at < len(row) else "")[:_LONGEST_LABEL] for row in chosen],
        )
        for at in range(columns)
    ]


def _rows(most: int, width: int) -> int:
    return max(2, min(most, _MOST_NUMBERS // max(1, width)))


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)
