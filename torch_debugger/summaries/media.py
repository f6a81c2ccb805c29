"""Tensors to pixels: any order of dimensions in, [height, width, channels] of bytes out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.records import Box
from torch_debugger.summaries.arguments import as_array, as_real_tensor
from torch_debugger.system.errors import DebuggerError

Pixels = NDArray[np.uint8]
_COLUMNS = 8  # of a grid of pictures
_CHANNELS = (1, 3, 4)


def picture_pixels(values: Any, dataformats: str, remark: Callable[[str], None]) -> Pixels:
    """One frame, [1, height, width, channels]; several pictures (N in the format) become a grid. `remark` is
    told what the picture does not show as it was given."""
    order = dataformats.upper()
    target = {2: "HW", 3: "HWC", 4: "NHWC"}.get(len(order), "")
    tensor = arranged(values, order, target)
    if target == "HW":
        tensor = tensor.unsqueeze(-1)
    pixels = as_bytes(tensor, remark)
    if target == "NHWC":
        count, height, width, channels = pixels.shape
        columns = min(count, _COLUMNS)
        rows = -(-count // columns)
        grid = np.zeros((rows * columns, height, width, channels), np.uint8)
        grid[:count] = pixels
        side_by_side = grid.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
        pixels = side_by_side.reshape(rows * height, columns * width, channels)
    return as_colors(pixels)[None]


def arranged(values: Any, order: str, target: str) -> torch.Tensor:
    """The dimensions named in `order`, as `target` wants them."""
    tensor = as_real_tensor(values)
    if not target or sorted(order) != sorted(target):
        raise DebuggerError(
            f"expected dataformats to name each dimension once, like CHW, HWC, HW or NCHW; got {order!r}"
        )
    if tensor.ndim != len(order):
        advice = {2: '; for a grey picture say dataformats="HW"', 4: "; for several pictures use add_images"}
        raise DebuggerError(
            f"expected {len(order)} dimensions for dataformats={order!r}, got a shape of {list(tensor.shape)}"
            + advice.get(tensor.ndim, "")
        )
    return tensor.permute([order.index(name) for name in target])


def as_bytes(tensor: torch.Tensor, remark: Callable[[str], None]) -> Pixels:
    """Whole numbers as they are, 0 to 1 as 0 to 255; a copy that nobody else writes into. NaN is black."""
    if tensor.numel() == 0:
        raise DebuggerError(f"expected a picture, got one without pixels: a shape of {list(tensor.shape)}")
    if tensor.dtype == torch.uint8:
        return np.array(tensor.cpu().numpy())
    floats = tensor.float()
    whole = not tensor.is_floating_point() and bool((floats > 1).any())
    shades = floats * (1 if whole else 255)
    outside = int((~((shades > -0.5) & (shades < 255.5))).sum())  # what rounding does is nobody's fault
    if outside:
        expected = "0 and 255" if whole else "0 and 1, as floats are expected to be"
        advice = "" if whole else " Pictures of 0 to 255 are taken as uint8."
        left = f"{outside:,} of {tensor.numel():,} values are not within {expected}"
        remark(f"{left}: they are clipped, and black where NaN.{advice}")
    return np.array(torch.nan_to_num(shades, nan=0.0).clamp_(0, 255).to(torch.uint8).cpu().numpy())


def as_colors(pixels: Pixels) -> Pixels:
    """Grey pictures are kept as red, green and blue, as TensorBoard's own writers do."""
    channels = pixels.shape[-1]
    if channels not in _CHANNELS:
        raise DebuggerError(
            f"expected 1, 3 or 4 channels, got {channels} in [height, width, channels] of "
            f"{list(pixels.shape)}; is dataformats right?"
        )
    return np.repeat(pixels, 3, axis=-1) if channels == 1 else np.ascontiguousarray(pixels)


def boxes_of(values: Any, labels: Any) -> tuple[Box, ...]:
    """Corners as [left, top, right, bottom] each; labels only where there is one for each box."""
    corners = as_array(values).astype(float)
    if corners.size == 0:
        return ()
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise DebuggerError(
            f"expected boxes of shape [boxes, 4], as left, top, right, bottom; got {list(corners.shape)}"
        )
    words = [labels] if isinstance(labels, str) else list(labels or ())
    if len(words) != len(corners):
        words = [""] * len(corners)
    named = zip(corners.tolist(), words, strict=True)
    return tuple(Box(left, top, right, bottom, str(word)) for (left, top, right, bottom), word in named)


# Clips to frames: several clips are shown side by side.
_TARGET = "NTHWC"


def film_frames(values: Any, dataformats: str, remark: Callable[[str], None]) -> Pixels:
    """[frames, height, width, channels]"""
    order = dataformats.upper()
    if getattr(values, "ndim", 5) == 4 and order.startswith("N"):
        order = order[1:]  # one clip, given without the dimension that counts clips
    clips = as_bytes(arranged(values, order, _TARGET if len(order) == 5 else _TARGET[1:]), remark)
    clips = clips if len(order) == 5 else clips[None]
    count, frames, height, width, channels = clips.shape
    # Rows and columns are powers of two, as with TensorBoard's own writers.
    rows = 2 ** ((count.bit_length() - 1) // 2)
    places = 1 << (count - 1).bit_length()
    padded = np.zeros((places, frames, height, width, channels), np.uint8)
    padded[:count] = clips
    grid = padded.reshape(rows, places // rows, frames, height, width, channels)
    side_by_side = grid.transpose(2, 0, 3, 1, 4, 5)
    return as_colors(side_by_side.reshape(frames, rows * height, places // rows * width, channels))


# Matplotlib figures to pixels, in the calling thread: a figure may change as soon as the call returns.
def figure_pixels(figure: Any, close: bool) -> Pixels:
    """[height, width, 3]; the figure keeps the canvas it had."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if not hasattr(figure, "set_canvas"):
        raise DebuggerError(f"expected a matplotlib figure, got {type(figure).__name__}; for axes pass axes.figure")
    canvas = figure.canvas
    try:
        drawn: Any = FigureCanvasAgg(figure)
        drawn.draw()
        pixels = np.array(drawn.buffer_rgba())[:, :, :3]
    finally:
        figure.set_canvas(canvas)
    if close and "matplotlib.pyplot" in sys.modules:  # else nobody but the script holds the figure
        sys.modules["matplotlib.pyplot"].close(figure)
    return np.ascontiguousarray(pixels)


# Tensors to samples of sound: one or two channels of 16 bits.
_LOUDEST = np.iinfo(np.int16).max


def sound_samples(values: Any) -> tuple[NDArray[np.int16], int]:
    """[samples, channels], of numbers from -1 to 1 or of 16-bit samples, and how many had to be clipped."""
    array = as_array(values)
    shape = list(array.shape)
    array = np.atleast_1d(array.squeeze())
    if array.ndim == 2 and array.shape[0] <= 2 < array.shape[1]:
        array = array.T
    if array.size == 0 or array.ndim > 2 or (array.ndim == 2 and array.shape[1] > 2):
        raise DebuggerError(
            f"expected a sound of shape [samples], [samples, channels] or [channels, samples] with one or two "
            f"channels, got {shape}"
        )
    samples = array.reshape(len(array), -1)
    if samples.dtype == np.int16:
        return np.array(samples), 0
    floats = samples if samples.dtype == np.float32 else samples.astype(np.float64)
    clamped = floats.clip(-1, 1)
    clipped = int(np.count_nonzero(clamped != floats))  # NaN among them
    return (np.nan_to_num(clamped, nan=0.0) * _LOUDEST).astype(np.int16), clipped
