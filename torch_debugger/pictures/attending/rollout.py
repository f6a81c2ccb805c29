"""Attention through all layers, rolled out: the layers multiplied with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.pictures.attending.choosing import Layers
from torch_debugger.pictures.attending.drawing import drawn
from torch_debugger.pictures.attending.layer_maps import LayerMaps
from torch_debugger.pictures.attending.patches import image_among, overlay, patches_of, seen_patches
from torch_debugger.pictures.attending.residual_mixing import mixed, square_maps
from torch_debugger.pictures.attending.tokens import Tokens, tokens_of_axes
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Inputs


class RolloutPicture(Picture):
    """`rollout` is [N, out, in]; for images `maps` is [N, rows, columns], else None."""

    layers: tuple[str, ...]
    rollout: NDArray[np.float64]
    maps: NDArray[np.float64] | None


def attention_rollout(
    source: Any,
    inputs: Inputs = None,
    *,
    tokens: Tokens = None,
    heads: str = "mean",
    layers: Layers = None,
    sample: int = 0,
) -> RolloutPicture:
    """How much of each input reaches each output through all layers (Abnar & Zuidema, 2020).

        pictures.attention_rollout(model, token_ids, tokens=words)     # a heat map
        seen = pictures.attention_rollout(vit, images, heads="max")    # over the image
        seen.rollout                                                   # [N, out, in], rows sum to 1
        seen.maps                                                      # [N, rows, columns] of patches

    `source` is a model, or its weights as `pictures.attention` takes them. Heads are put together by their
    "mean", "max" or "min", half of each layer is its residual, rows are made to sum to 1, and the layers are
    multiplied. Of an image without a class token, the mean over all outputs is drawn.
    """
    maps = square_maps(source, inputs, layers)
    maps.of_sample(sample)  # complains, where there is none
    rolled = multiplied(mixed(maps, heads))
    image = image_among(inputs)
    patches = patches_of(rolled.shape[-1], image)
    title = f"Attention rollout through {maps.depth()}, {heads} of heads{maps.example(sample)}"
    arrays = {"rollout": rolled}
    if image is not None and patches is not None:
        arrays["maps"] = seen_patches(rolled, patches)
        pixels, grid = image[sample], arrays["maps"][sample]
        picture = RolloutPicture(title, arrays, lambda: overlay(title, pixels, grid, "share passed on"))
    else:
        names = tokens_of_axes({"rollout": rolled.shape[1:]}, tokens, None, by_name=False)["rollout"]
        shown = LayerMaps("rollout", ["rollout"], rolled[sample][None], names)
        picture = RolloutPicture(title, arrays, lambda: drawn(title, [shown], "share passed on"))
    picture.layers, picture.rollout, picture.maps = maps.layers, rolled, arrays.get("maps")
    return picture


def multiplied(layers: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N, out, in] of [layers, N, out, in], the first layer rightmost."""
    rolled: NDArray[np.float64] = layers[0]
    for layer in layers[1:]:
        rolled = layer @ rolled
    return rolled
