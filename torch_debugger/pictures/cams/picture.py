"""Class activation, drawn: the image, the map, and both together, a row for each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.aims import Aim, named
from torch_debugger.pictures.canvas import HEAT, INK, image_axes, new_figure, say_below, say_beside
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.shown_images import heat_over

MOST_ROWS = 8
_TILE_IN = 1.9


class ClassActivation(Picture):
    """Where a model looks; `maps[i]` belongs to `targets[i]` of image `examples[i]`.

    found.maps       # float32 [maps, height, width], from 0 to 1, of the image's size
    found.raw        # as the layer has it, not yet scaled
    found.scores     # the model's own number for each target
    found.overlays   # [maps, height, width, 3]
    found.layer      # which layer, as a path
    """

    _kind = "image"

    def __init__(
        self,
        title: str,
        maps: NDArray[np.float32],
        raw: NDArray[np.float32],
        aims: Sequence[Aim],
        scores: NDArray[np.float32],
        layer: str,
        images: Any,  # by number: ShownImages, or an array
        labels: Sequence[str] | Mapping[int, str] | None = None,
        note: str = "",
    ) -> None:
        super().__init__(title, {"maps": maps, "raw": raw, "scores": scores}, self._figure)
        self.maps, self.raw, self.scores, self.layer, self.note = maps, raw, scores, layer, note
        self.targets = [aim.target for aim in aims]
        self.examples = [aim.example for aim in aims]
        self.names = [named(aim.target, labels) for aim in aims]
        self._images = images

    @property
    def overlays(self) -> NDArray[np.float64]:
        pairs = zip(self.examples, self.maps, strict=True)
        return np.stack([heat_over(self._images[example], heat) for example, heat in pairs])

    def _figure(self) -> Figure:
        rows = min(len(self.maps), MOST_ROWS)
        high, wide = self.maps.shape[1:]
        tall = min(2.0, max(0.5, high / wide))
        figure = new_figure(3 * _TILE_IN + 2.0, rows * (_TILE_IN * tall + 0.1) + 0.75, self._heading(rows))
        axes = figure.subplots(rows, 4, squeeze=False, width_ratios=(0.55, 1, 1, 1))
        for row in range(rows):
            self._draw_row(axes[row], row)
        bar = figure.colorbar(axes[0][2].images[0], ax=axes[:, 3].tolist(), fraction=0.05, shrink=0.9)
        bar.set_label("share of the map's largest value", fontsize=8, color=INK)
        bar.ax.tick_params(labelsize=7)
        return say_below(figure, self.note)

    def _heading(self, rows: int) -> str:
        shown = f" ({rows} of {len(self.maps)} maps)" if rows < len(self.maps) else ""
        return f"{self.title}{shown}"

    def _words(self, row: int) -> list[str]:
        several = len(set(self.examples)) > 1
        which = [f"{self._kind} {self.examples[row]}"] if several else []
        return [*which, self.names[row], f"score {self.scores[row]:.3g}"]

    def _draw_row(self, axes: Any, row: int) -> None:
        image, heat = self._images[self.examples[row]], self.maps[row]
        heads = ("image", "map", "map over image") if row == 0 else ("", "", "")
        say_beside(axes[0], *self._words(row))
        image_axes(axes[1], heads[0]).imshow(image)
        image_axes(axes[2], heads[1]).imshow(heat, cmap=HEAT, vmin=0, vmax=1)
        image_axes(axes[3], heads[2]).imshow(np.clip(heat_over(image, heat), 0, 1))
