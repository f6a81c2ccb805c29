"""How values are spread: weights and outputs as histograms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from torch_debugger.model.layers import chosen_layers, clean_path
from torch_debugger.pictures.figures import ACCENT, INK, PALE, SECOND, number, shortened
from torch_debugger.pictures.image_grids import small_multiples
from torch_debugger.pictures.model_runs import Inputs, SeveralLayers, for_a_picture, record_layers
from torch_debugger.pictures.picture import Picture
from torch_debugger.stats.values import TensorStats, number_text, share_text, take_stats, values_of
from torch_debugger.system.errors import UsageError

# Histograms of what layers give and of what they hold, one a layer.
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
    spreads = record_layers(model, x, layers, lambda module, output: measure_spread(output, module))
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


def _picture(title: str, spreads: Mapping[str, LayerHistogram], most: int) -> Picture:
    if most < 1:
        raise UsageError(f"most= is the number of layers to show, at least 1, not {most}.")
    known = list(spreads)
    places = np.linspace(0, len(known) - 1, min(most, len(known))).round().astype(int)
    names = [known[place] for place in np.unique(places)]
    arrays: dict[str, NDArray[Any]] = {f"{name}: counts": each.counts for name, each in spreads.items()}
    arrays |= {f"{name}: edges": each.edges for name, each in spreads.items()}
    some = f"{title} ({len(names)} of {len(spreads)}, evenly chosen)" if len(names) < len(spreads) else title
    return Picture(some, arrays, lambda: _draw(some, {name: spreads[name] for name in names}))


def _draw(title: str, spreads: Mapping[str, LayerHistogram]) -> Figure:
    shown = list(spreads.values())
    names = [f"{shortened(name, _LETTERS)}\n{spread.words}" for name, spread in spreads.items()]
    hides = any(spread.hides_zeros for spread in shown)
    words = ["Zeros have no bar where they are more than 5 %; a dotted line marks their place."] if hides else []
    words.append("Each over its own range, from least to greatest; the height is the share of values.")
    return small_multiples(
        title, names, lambda axes, place: _bars(axes, shown[place]), words,
        columns=_COLUMNS, size_in=_SIZE_IN, under=0.2,
    )  # fmt: skip


def _bars(axes: Axes, spread: LayerHistogram) -> None:
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
        axes.text(0.98, 0.95, spread.trouble, color=SECOND, size=8, ha="right", va="top", transform=axes.transAxes)


# How the values of a tensor are spread: counted where they lie, zeros and what is not finite apart.
_FEWEST, _MOST = 8, 50  # bars; a few values in many would be a comb
_AT_ONCE = 2**22  # values widened to float64 at a time
_EDGE = 0.01  # of the range, from either limit: saturated
_MANY_ZEROS = 0.05  # a bar for more would hide all others
_BETWEEN = {
    nn.Sigmoid: (0.0, 1.0), nn.Hardsigmoid: (0.0, 1.0), nn.Tanh: (-1.0, 1.0), nn.RNN: (-1.0, 1.0),
    nn.LSTM: (-1.0, 1.0), nn.GRU: (-1.0, 1.0),
}  # fmt: skip


@dataclass(frozen=True)
class LayerHistogram:
    """`counts` has the values between `edges`; where many are zero, only the others."""

    stats: TensorStats
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    saturated: int | None = None  # None: nothing limits these values

    @property
    def hides_zeros(self) -> bool:
        return self.stats.zeros > _MANY_ZEROS * self.stats.count

    @property
    def words(self) -> str:
        stats = self.stats
        if not stats.count:
            return ", ".join(stats.remarks) or "empty"
        if stats.std is None:
            return "nothing finite"
        said = [f"std {number_text(stats.std)}"]
        if stats.zeros:
            said.append(f"{share_text(stats.zeros, stats.count)} zero")
        if self.saturated:
            said.append(f"{share_text(self.saturated, stats.count)} saturated")
        return ", ".join(said)

    @property
    def trouble(self) -> str:
        """What is not finite, counted."""
        counted = (("NaN", self.stats.nans), ("Inf", self.stats.infs))
        return ", ".join(f"{count:,} {word}" for word, count in counted if count)


def measure_spread(tensor: torch.Tensor, module: nn.Module | None = None) -> LayerHistogram:
    stats = take_stats(tensor)
    values, _ = values_of(tensor)
    if values is None or stats.min is None or stats.max is None:
        return LayerHistogram(stats, np.array([0.0, 1.0]), np.zeros(1, dtype=np.int64))
    bins = int(np.clip(2 * stats.count ** (1 / 3), _FEWEST, _MOST))
    low, high = stats.min, stats.max
    if high <= low:  # a constant has a bar in the middle
        around = abs(low) or 1.0
        low, high = low - around, high + around
    edges = np.linspace(low, high, bins + 1)
    parts = [part.to(torch.float64) for part in torch.split(values, _AT_ONCE)]
    saturated = None
    lowest, highest = _limits(module)
    if highest is not None:
        edge = _EDGE * (highest - (lowest or 0.0))
        saturated = sum(int((part >= highest - edge).sum()) for part in parts)
        if lowest is not None:
            saturated += sum(int((part <= lowest + edge).sum()) for part in parts)
    spread = LayerHistogram(stats, edges, np.zeros(bins, dtype=np.int64), saturated)
    counts = sum(_counted(part, edges, spread.hides_zeros) for part in parts)
    return LayerHistogram(stats, edges, np.asarray(counts), saturated)


def _counted(part: torch.Tensor, edges: NDArray[np.float64], without_zeros: bool) -> NDArray[np.int64]:
    """Inside the edges; histc leaves out what is not finite."""
    bins = len(edges) - 1
    counts = torch.histc(part[part.isfinite()], bins, float(edges[0]), float(edges[-1])).to(torch.int64)
    found: NDArray[np.int64] = counts.cpu().numpy()
    if without_zeros:
        home = next((place for place, (low, high) in enumerate(pairwise(edges)) if low <= 0 < high), bins - 1)
        found[home] -= min(int(found[home]), part.numel() - int(torch.count_nonzero(part)))
    return found


def _limits(module: nn.Module | None) -> tuple[float | None, float | None]:
    """Between which a layer of this kind squashes its output; None: no limit that a gradient dies at."""
    if isinstance(module, nn.ReLU6):
        return None, 6.0
    if isinstance(module, nn.Hardtanh):
        return module.min_val, module.max_val
    return next((limits for kind, limits in _BETWEEN.items() if isinstance(module, kind)), (None, None))
