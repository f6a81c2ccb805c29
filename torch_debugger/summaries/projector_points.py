"""Coordinates of points as TensorBoard's projector reads them: a table as text, or plain float32 numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy
import torch

TEXT, NUMBERS = "tensors.tsv", "tensors.bytes"
_MOST_TEXT = 100_000  # numbers; reading a table of many takes TensorBoard minutes
_AT_ONCE = 4_000_000  # numbers held in memory


def write_points(file: BinaryIO, matrix: torch.Tensor, as_text: bool) -> int:
    """How many numbers were not finite: they are written as 0, since the projector shows nothing of a NaN."""
    row = "\t".join(["%.9g"] * matrix.shape[1]) + "\n"
    replaced = 0
    for values in _chunks(matrix):
        finite = numpy.isfinite(values)
        replaced += values.size - int(finite.sum())
        values = numpy.where(finite, values, numpy.float32(0))
        file.write(
            "".join(row % tuple(each) for each in values.tolist()).encode() if as_text else values.tobytes()
        )
    return replaced


def is_text_better(matrix: torch.Tensor) -> bool:
    """TensorBoard takes a file for a table unless its first line is no text: zeros, for one, would be."""
    if matrix.numel() <= _MOST_TEXT:
        return True
    first_line = next(_chunks(matrix)).tobytes().partition(b"\n")[0]
    try:
        first_line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _chunks(matrix: torch.Tensor) -> Iterator[Any]:
    rows = max(1, _AT_ONCE // matrix.shape[1])
    for chunk in torch.split(matrix, rows):
        yield chunk.to("cpu", torch.float32).numpy().astype("<f4", copy=False)
