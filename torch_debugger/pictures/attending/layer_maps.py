"""What is drawn of a layer, and the scale of colours that all such drawings share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from torch_debugger.pictures.attending.maps import Weights
from torch_debugger.pictures.attending.tokens import AxisTokens
from torch_debugger.pictures.canvas import INK, MAGNITUDE

FONT = 8.0


@dataclass(frozen=True)
class LayerMaps:
    layer: str
    heads: Sequence[str]
    maps: Weights  # [heads, out, in]
    tokens: AxisTokens


def colour_bar(figure: Figure, axes: Axes | list[Axes], norm: Normalize, measure: str) -> None:
    bar = figure.colorbar(ScalarMappable(norm, MAGNITUDE), ax=axes, fraction=0.05, pad=0.02, aspect=25)
    bar.set_label(measure, fontsize=FONT, color=INK)
    bar.ax.tick_params(labelsize=FONT, colors=INK, length=2)
    bar.outline.set_visible(False)


def colour_scale(layers: Sequence[LayerMaps], few: bool) -> Normalize:
    """Of many tokens one often takes almost all, and the rest should still be seen."""
    greatest = max(float(np.nanmax(layer.maps, initial=0.0)) for layer in layers)
    greatest = greatest if math.isfinite(greatest) and greatest > 0 else 1.0
    return Normalize(0, greatest) if few else PowerNorm(0.5, 0, greatest)
