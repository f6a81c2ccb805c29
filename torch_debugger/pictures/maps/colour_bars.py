"""What the colours of painted numbers stand for, beside them."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from torch_debugger.pictures.canvas import INK


def colour_bar(figure: Figure, axes: Axes, colours: str, low: float, high: float, label: str) -> None:
    bar = figure.colorbar(
        ScalarMappable(Normalize(low, high or 1.0), colours), ax=axes, fraction=0.04, pad=0.02
    )
    bar.set_label(label, fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=7, colors=INK)
    bar.outline.set_visible(False)
