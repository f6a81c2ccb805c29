"""What layers give for an input, as images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.captions import named
from torch_debugger.pictures.heard_layers import SeveralLayers, hear_layers
from torch_debugger.pictures.maps.map_drawing import LayerMaps, draw_maps
from torch_debugger.pictures.maps.map_layouts import Layout, laid_out
from torch_debugger.pictures.paint import as_array
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Inputs
from torch_debugger.pictures.samples import as_batch, chosen_samples, image_size

_MOST_BLOCKS = 40


def feature_maps(
    model: nn.Module,
    x: Inputs,
    layers: SeveralLayers,
    *,
    sample: int | Sequence[int] = 0,
    most: int = 32,
) -> Picture:
    """What one layer, or several, give for an input: one map a channel, the strongest first.

        feature_maps(model, images, "layer1").save("maps.png")
        feature_maps(model, images, ["conv1", "layer2.*"], sample=[0, 3], most=16)

    The model runs once in evaluation mode and is left as it was. Each map has its own range, which stands
    above it; one that is zero everywhere is called dead. Tokens of a model that reads images are shown at
    the places of their patches, sequences as time by unit. `arrays` has all channels of each layer, by path.
    """
    if most < 1:
        raise UsageError(f"most= is the number of maps to show of each layer, at least 1, not {most}.")
    image = image_size(as_batch(model, x))

    def keep(module: nn.Module, output: torch.Tensor) -> Layout | None:
        layout = laid_out(module, output, image)
        return None if layout is None else Layout(layout.kind, layout.values.clone(), layout.remark)

    heard = hear_layers(model, x, layers, keep, last_only=True)
    places = {path: layout for path, layout in heard.items() if layout is not None}
    if not places:
        raise UsageError(
            f"{named(next(iter(heard)))} gives one number for each sample: there is no map to draw."
        )
    drawn = [_maps(path, layout, sample, most) for path, layout in places.items()]
    if sum(len(maps.samples) for maps in drawn) > _MOST_BLOCKS:
        raise UsageError(
            f"{len(drawn)} layers are too many for one picture: name those to see, at most {_MOST_BLOCKS} "
            "layers and samples together."
        )
    title = f"Feature maps of {', '.join(named(maps.path) for maps in drawn[:3])}"
    title += f" and {len(drawn) - 3} more" if len(drawn) > 3 else ""
    return Picture(title, {maps.path: maps.values for maps in drawn}, lambda: draw_maps(title, drawn))


def _maps(path: str, layout: Layout, sample: int | Sequence[int], most: int) -> LayerMaps:
    chosen = chosen_samples(sample, len(layout.values))
    values = as_array(layout.values[chosen])
    strength = np.abs(np.where(np.isfinite(values), values, 0)).reshape(*values.shape[:2], -1).mean(axis=2)
    order = np.argsort(-strength, axis=1, kind="stable")[:, :most]
    if values.shape[1] <= most:
        order = np.sort(order, axis=1)
    return LayerMaps(path, layout.kind, values, tuple(chosen), order, layout.remark)
