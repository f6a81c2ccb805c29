"""Matplotlib figures to pixels, in the calling thread: a figure may change as soon as the call returns."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.pictures import Pixels


def figure_pixels(figure: Any, close: bool) -> Pixels:
    """[height, width, 3]; the figure keeps the canvas it had."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if not hasattr(figure, "set_canvas"):
        raise DebuggerError(
            f"expected a matplotlib figure, got {type(figure).__name__}; for axes pass axes.figure"
        )
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
