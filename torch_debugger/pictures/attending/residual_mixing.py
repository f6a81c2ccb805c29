"""What a layer passes on: its attention, heads put together, and the token itself through the residual."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.attending.choosing import Layers, chosen_layers, fused, patterns_of
from torch_debugger.pictures.attending.given import given_maps
from torch_debugger.pictures.attending.heard import heard_maps
from torch_debugger.pictures.attending.maps import AttentionMaps


def square_maps(source: Any, inputs: Any, layers: Layers) -> AttentionMaps:
    """Of layers in which the same tokens look at each other."""
    if isinstance(source, nn.Module):
        maps = heard_maps(source, inputs, layers)
    else:
        maps = chosen_layers(given_maps(source), patterns_of(layers))
    first = maps.weights[0].shape
    for name, weights in zip(maps.layers, maps.weights, strict=True):
        out, looked_at = weights.shape[2:]
        if out != looked_at or weights.shape[0] != first[0] or looked_at != first[3]:
            which = f"`{name}` is {_size(weights.shape)}"
            if name != maps.layers[0]:
                which = f"`{maps.layers[0]}` is {_size(first)} and {which}"
            raise UsageError(
                "layers are followed through each other only where the same tokens look at themselves, but "
                f'{which}: choose others with `layers=`, such as `layers="encoder.*"`.'
            )
    return maps


def mixed(maps: AttentionMaps, heads: str) -> NDArray[np.float64]:
    """[layers, N, out, in]: half of it the attention, half the residual; rows sum to 1 (Abnar & Zuidema)."""
    together = np.stack([fused(np.moveaxis(weights, 1, 0), heads) for weights in maps.weights])
    passed = 0.5 * together.astype(np.float64) + 0.5 * np.eye(together.shape[-1])
    rows: NDArray[np.float64] = passed / passed.sum(axis=-1, keepdims=True)
    return rows


def _size(shape: tuple[int, ...]) -> str:
    examples = "1 example" if shape[0] == 1 else f"{shape[0]} examples or windows"
    return f"{shape[2]} by {shape[3]} for {examples}"
