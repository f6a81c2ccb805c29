"""Histograms of what layers give and of what they hold, one a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from torch_debugger.anatomy.layers import chosen_layers, clean_path
from torch_debugger.errors import UsageError
from torch_debugger.pictures.canvas import ACCENT, INK, PALE, SECOND
from torch_debugger.pictures.captions import shortened
from torch_debugger.pictures.heard_layers import SeveralLayers, hear_layers
from torch_debugger.pictures.paint import number
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Inputs, for_a_picture
from torch_debugger.pictures.small_multiples import small_multiples
from torch_debugger.pictures.spreading.spreads import Spread, measure_spread

_COLUMNS, _SIZE_IN = 4, (2.0, 0.75)
_LETTERS = 34  # of a name, over a drawing of that size


def activation_histograms(
    model: nn.Module, x: Inputs, layers: SeveralLayers | None = None, *, most: int = 40
) -> Picture:
    """How the outputs of layers are spread for an input, in the order in which they are called.

        activation_histograms(model, images).save("activations.png")
        activation_histograms(model, images, [nn.ReLU, "head"])

    Without `layers`, all that hold no others. Above each stand its deviation, the share of zeros, and of
    saturated values for a sigmoid, tanh or recurrent layer (within 1 % of a limit); NaN and Inf are counted
    in red. The model runs once, in evaluation mode. `arrays` has edges and counts by layer.
    """
    spreads = hear_layers(model, x, layers, lambda module, output: measure_spread(output, module))
    return _picture("Outputs of layers, in the order of their calls", spreads, most)


def weight_histograms(
    model: nn.Module, layers: SeveralLayers = "*", *, biases: bool = False, most: int = 40
) -> Picture:
    """How the weights of each layer, and of the layers inside it, are spread.

    weight_histograms(model).save("weights.png")
    weight_histograms(model, ["encoder", nn.Conv2d], biases=True)
    """
    with for_a_picture(model) as inner:
        chosen = chosen_layers(inner, layers)
        owned = {id(each) for module in chosen.values() for each in module.parameters()}
        weights = {
            clean_path(name): weight
            for name, weight in inner.named_parameters()
            if id(weight) in owned and (biases or not is_bias(name))
        }
        if not weights:
            raise UsageError("there are no weights in these layers.")
        spreads = {name: measure_spread(weight.detach()) for name, weight in weights.items()}
    return _picture("Weights by layer", spreads, most)


def is_bias(name: str) -> bool:
    """fc.bias, lstm.bias_ih_l0, attention.in_proj_bias"""
    return "bias" in name.rpartition(".")[2]


def _picture(title: str, spreads: Mapping[str, Spread], most: int) -> Picture:
    names = _spaced(list(spreads), most)
    arrays: dict[str, NDArray[Any]] = {f"{name}: counts": each.counts for name, each in spreads.items()}
    arrays |= {f"{name}: edges": each.edges for name, each in spreads.items()}
    some = f"{title} ({len(names)} of {len(spreads)}, evenly chosen)" if len(names) < len(spreads) else title
    return Picture(some, arrays, lambda: _draw(some, {name: spreads[name] for name in names}))


def _spaced(names: list[str], most: int) -> list[str]:
    """The first, the last, and those evenly between."""
    if most < 1:
        raise UsageError(f"most= is the number of layers to show, at least 1, not {most}.")
    return [
        names[place]
        for place in np.unique(np.linspace(0, len(names) - 1, min(most, len(names))).round().astype(int))
    ]


def _draw(title: str, spreads: Mapping[str, Spread]) -> Figure:
    shown = list(spreads.values())
    names = [f"{shortened(name, _LETTERS)}\n{spread.words}" for name, spread in spreads.items()]
    hides = any(spread.hides_zeros for spread in shown)
    words = (
        ["Zeros have no bar where they are more than 5 %; a dotted line marks their place."] if hides else []
    )
    words.append("Each over its own range, from least to greatest; the height is the share of values.")
    return small_multiples(
        title, names, lambda axes, place: _bars(axes, shown[place]), words,
        columns=_COLUMNS, size_in=_SIZE_IN, under=0.2,
    )  # fmt: skip


def _bars(axes: Axes, spread: Spread) -> None:
    edges = spread.edges
    axes.bar(edges[:-1], spread.counts, np.diff(edges), align="edge", color=ACCENT, linewidth=0)
    if edges[0] < 0 < edges[-1] or spread.hides_zeros:
        axes.axvline(0, color=INK if spread.hides_zeros else PALE, linewidth=0.8, linestyle=":")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xticks([edges[0], edges[-1]], [number(edges[0]), number(edges[-1])], fontsize=7)
    axes.spines["left"].set_visible(False)
    least, greatest = axes.get_xticklabels()
    least.set_horizontalalignment("left")
    greatest.set_horizontalalignment("right")
    if spread.trouble:
        axes.text(
            0.98, 0.95, spread.trouble, color=SECOND, size=8, ha="right", va="top", transform=axes.transAxes
        )
