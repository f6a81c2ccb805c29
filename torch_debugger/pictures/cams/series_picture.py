"""Class activation of series, drawn: curves on the ground of their map."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.errors import UsageError
from torch_debugger.pictures.attributing.drawings import draw_series
from torch_debugger.pictures.cams.picture import MOST_ROWS, ClassActivation
from torch_debugger.pictures.cams.series import SeriesInput
from torch_debugger.pictures.canvas import say_below

_MOST_CURVES = 4  # of more channels the mean is drawn


def shown_series(given: SeriesInput, **of_images: Any) -> NDArray[np.float64]:
    """[examples, channels, places]"""
    if any(each is not None for each in of_images.values()):
        raise UsageError(f"{'=, '.join(of_images)}= are for images, but the input is a series: leave them out.")
    series = given.tensor.detach().squeeze(2).to("cpu", torch.float64)
    return (series if series.shape[1] <= _MOST_CURVES else series.mean(1, keepdim=True)).numpy()


class SeriesActivation(ClassActivation):
    """The same of series: `maps` are [maps, places], and there are no overlays."""

    _kind = "example"

    def __init__(self, title: str, maps: NDArray[np.float32], raw: NDArray[np.float32], *rest: Any) -> None:
        super().__init__(title, maps.squeeze(-2), raw.squeeze(-2), *rest)

    @property
    def overlays(self) -> NDArray[np.float64]:
        raise UsageError("overlays are made of images; figure() draws a series on the ground of its map.")

    def _figure(self) -> Figure:
        rows = [(example, ", ".join(self._words(row))) for row, example in enumerate(self.examples[:MOST_ROWS])]
        title, measure = self._heading(len(rows)), "share of the largest value"
        return say_below(draw_series(title, self._images, self.maps, rows, measure), self.note)
