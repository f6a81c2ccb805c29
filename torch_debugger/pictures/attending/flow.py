"""Attention through all layers as a flow: the greatest that the layers let pass from an input to an output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.errors import UsageError
from torch_debugger.pictures.attending.choosing import Layers
from torch_debugger.pictures.attending.drawing import drawn
from torch_debugger.pictures.attending.layer_maps import LayerMaps
from torch_debugger.pictures.attending.max_flow import max_flow
from torch_debugger.pictures.attending.patches import image_among, overlay, patches_of, seen_patches
from torch_debugger.pictures.attending.residual_mixing import mixed, square_maps
from torch_debugger.pictures.attending.tokens import AxisTokens, Tokens, tokens_of_axes
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Inputs

_MOST_WORK = 4_000_000  # about ten seconds


class FlowPicture(Picture):
    """`flow` is [in], to one output; for an image `map` is [rows, columns], else None."""

    layers: tuple[str, ...]
    flow: NDArray[np.float64]
    map: NDArray[np.float64] | None


def attention_flow(
    source: Any,
    inputs: Inputs = None,
    *,
    output: int = 0,
    tokens: Tokens = None,
    heads: str = "mean",
    layers: Layers = None,
    sample: int = 0,
) -> FlowPicture:
    """The greatest flow from each input to one output, with attention as capacities (Abnar & Zuidema, 2020).

        pictures.attention_flow(vit, images)                           # to the class token, over the image
        seen = pictures.attention_flow(model, token_ids, output=-1)    # to the last token
        seen.flow                                                      # [in], each at most 1

    Capacities are what `pictures.attention_rollout` multiplies: heads put together, and half of each layer its
    residual. It is slow work, so layers x tokens^3 may be at most 4,000,000: 12 layers of 64 tokens.
    """
    maps = square_maps(source, inputs, layers)
    maps.of_sample(sample)  # complains, where there is none
    capacities = mixed(maps, heads)[:, sample]
    flow = _to_output(capacities, output)
    image = image_among(inputs)
    patches = patches_of(len(flow), image)
    title = f"Attention flow to token {output % len(flow)}, {maps.depth()}{maps.example(sample)}"
    arrays = {"flow": flow}
    if image is not None and patches is not None:
        grid = arrays["map"] = seen_patches(flow[None], patches)
        picture = FlowPicture(title, arrays, lambda: overlay(title, image[sample], grid, "greatest flow"))
    else:
        shown = _row(flow, output, tokens)
        picture = FlowPicture(title, arrays, lambda: drawn(title, [shown], "greatest flow"))
    picture.layers, picture.flow, picture.map = maps.layers, flow, arrays.get("map")
    return picture


def _to_output(capacities: NDArray[np.float64], output: int) -> NDArray[np.float64]:
    layers, tokens = capacities.shape[:2]
    if not -tokens <= output < tokens:
        raise UsageError(f"output={output} was asked for, but there are {tokens} tokens, counted from 0.")
    if layers * tokens**3 > _MOST_WORK:
        raise UsageError(
            f"the flow through {layers} layers of {tokens} tokens would take too long: "
            f"layers x tokens^3 may be at most {_MOST_WORK:,}. Choose fewer with `layers=`, or take "
            "`pictures.attention_rollout`."
        )
    return np.array([max_flow(capacities, output % tokens, each) for each in range(tokens)])


def _row(flow: NDArray[np.float64], output: int, tokens: Tokens) -> LayerMaps:
    names = tokens_of_axes({"flow": (len(flow), len(flow))}, tokens, None, by_name=False)["flow"]
    looking = [tokens[output]] if tokens is not None else [output % len(flow)]
    return LayerMaps("flow", ["flow"], flow[None, None], AxisTokens(looking, names.looked_at))
