"""Clips to frames: several clips are shown side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.pictures import Pixels, arranged, as_bytes, as_colors

_TARGET = "NTHWC"


def film_frames(values: Any, dataformats: str, remark: Callable[[str], None]) -> Pixels:
    """[frames, height, width, channels]"""
    order = dataformats.upper()
    if getattr(values, "ndim", 5) == 4 and order.startswith("N"):
        order = order[1:]  # one clip, given without the dimension that counts clips
    clips = as_bytes(arranged(values, order, _TARGET if len(order) == 5 else _TARGET[1:]), remark)
    return as_colors(_side_by_side(clips if len(order) == 5 else clips[None]))


def _side_by_side(clips: Pixels) -> Pixels:
    """Rows and columns are powers of two, as with TensorBoard's own writers."""
    count, frames, height, width, channels = clips.shape
    rows = 2 ** ((count.bit_length() - 1) // 2)
    places = 1 << (count - 1).bit_length()
    padded = np.zeros((places, frames, height, width, channels), np.uint8)
    padded[:count] = clips
    grid = padded.reshape(rows, places // rows, frames, height, width, channels)
    side_by_side = grid.transpose(2, 0, 3, 1, 4, 5)
    film: Pixels = side_by_side.reshape(frames, rows * height, places // rows * width, channels)
    return film


def check_rate(frames_per_s: float) -> float:
    if not frames_per_s > 0:
        raise DebuggerError(f"expected fps above 0, got {frames_per_s}")
    return float(frames_per_s)
