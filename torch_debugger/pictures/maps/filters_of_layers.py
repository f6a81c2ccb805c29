"""The weights of a layer as images: what each of its filters looks for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from torch_debugger.anatomy.layers import clean_path, one_layer
from torch_debugger.errors import UsageError
from torch_debugger.pictures.captions import named as called
from torch_debugger.pictures.maps.filter_drawing import FilterBank, draw_filters
from torch_debugger.pictures.paint import as_array
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Layer, for_a_picture

Shape = Sequence[int]
_SCALES = ("filter", "layer")


def filters(
    model: nn.Module,
    layer: Layer | None = None,
    *,
    most: int = 64,
    per: str = "filter",
    channels: int | Sequence[int] | None = None,
    shape: Shape | None = None,
) -> Picture:
    """The filters of a convolution, by default of the model's first.

        filters(model).save("filters.png")
        filters(model, "features.3", per="layer")      # all on one scale
        filters(model, "features.3", channels=[0, 5])  # of these input channels
        filters(model, "fc1", shape=(1, 28, 28))       # a Linear that reads flattened images

    Filters of three input channels are shown in colour, others channel by channel, red above zero and
    blue below. Kernels of one weight make one matrix, output by input channel; of a transposed convolution
    one sees what each input channel writes. `arrays["filters"]` has the weights, [filter, channel, ...].
    """
    if per not in _SCALES:
        raise UsageError(f'per= is "filter" (each on its own scale) or "layer" (all on one), not {per!r}.')
    if most < 1:
        raise UsageError(f"most= is the number of filters to show, at least 1, not {most}.")
    with for_a_picture(model) as inner:
        path, module = _first(inner, shape) if layer is None else one_layer(inner, layer)
        weights = _weights(path, module, shape)
    bank = FilterBank(path, _described(module), as_array(weights), _sees_colour(module, weights), per)
    bank = bank.limited(most, _wanted(channels, path, weights.shape[1]))
    return Picture(bank.title, {"filters": bank.weights}, lambda: draw_filters(bank))


def _first(model: nn.Module, shape: Shape | None) -> tuple[str, nn.Module]:
    """The first convolution; where a shape is given, the first Linear that reads such images."""
    named = [(clean_path(path), module) for path, module in model.named_modules()]
    if shape is not None:
        fitting = [pair for pair in named if _reads(pair[1], math.prod(shape))]
    else:
        fitting = [pair for pair in named if _has_kernels(pair[1])]
    if fitting:
        return fitting[0]
    linear = next((f"`{path}`" for path, module in named if isinstance(module, nn.Linear)), "")
    if shape is not None:
        raise UsageError(
            f"no Linear layer of this model reads {math.prod(shape)} numbers, as {tuple(shape)} has."
        )
    hint = f" To see what {linear} reads as images, give shape=(channels, height, width)." if linear else ""
    raise UsageError(f"this model has no convolution.{hint}")


def _has_kernels(module: nn.Module) -> bool:
    weight = module._parameters.get("weight")
    return isinstance(module, _ConvNd) or (weight is not None and 3 <= weight.dim() <= 5)


def _reads(module: nn.Module, count: int) -> bool:
    return isinstance(module, nn.Linear) and module.in_features == count


def _weights(path: str, module: nn.Module, shape: Shape | None) -> torch.Tensor:
    """[filter, channel, kernel ...]"""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.dim() < 2:
        raise UsageError(
            f"{called(path)} is a {type(module).__name__}, which has no filters.{_inside(path, module)}"
        )
    if weight.is_meta:
        raise UsageError(f"{called(path)} is on the meta device: its weights hold no values to show.")
    if weight.dim() == 2:
        return _as_images(path, weight, shape)
    if weight.dim() > 5:
        raise UsageError(f"the weight of {called(path)} has {weight.dim()} dimensions; filters have 3 to 5.")
    if shape is not None:
        raise UsageError(
            f"shape= is for Linear layers; {called(path)} is a {type(module).__name__} and has its own."
        )
    return weight


def _inside(path: str, module: nn.Module) -> str:
    parts = [f"`{path}.{clean_path(name)}`" for name, part in module.named_modules() if _has_kernels(part)]
    return f" It holds {', '.join(parts[:3])}." if parts else ""


def _as_images(path: str, weight: torch.Tensor, shape: Shape | None) -> torch.Tensor:
    if shape is None:
        raise UsageError(
            f"{called(path)} reads {weight.shape[1]} numbers: say what image they are, "
            "such as filters(model, layer, shape=(1, 28, 28))."
        )
    sizes = (1, *shape) if len(shape) == 2 else tuple(shape)
    if len(sizes) != 3 or math.prod(sizes) != weight.shape[1]:
        raise UsageError(
            f"shape={tuple(shape)} has {math.prod(shape)} numbers, but {called(path)} reads {weight.shape[1]}: "
            "expected (channels, height, width) of what it reads."
        )
    images = weight.reshape(-1, *sizes)
    return images.permute(0, 3, 1, 2) if sizes[2] in (1, 3) and sizes[0] not in (1, 3) else images


def _sees_colour(module: nn.Module, weights: torch.Tensor) -> bool:
    """Three channels that belong together: not those of a group, which are three of many."""
    return weights.shape[1] == 3 and getattr(module, "groups", 1) == 1 and weights.dim() > 3


def _described(module: nn.Module) -> str:
    stamps = ", what each input channel writes" if isinstance(module, _ConvTransposeNd) else ""
    return f"{type(module).__name__}{stamps}"


def _wanted(channels: int | Sequence[int] | None, path: str, count: int) -> list[int] | None:
    if channels is None:
        return None
    wanted = [channels] if isinstance(channels, int) else list(channels)
    for channel in wanted:
        if not -count <= channel < count:
            raise UsageError(f"{called(path)} has the channels 0 to {count - 1}; there is no {channel}.")
    return [int(channel) for channel in np.arange(count)[wanted]]
