"""Attention that was given: one tensor, or one for each layer as Hugging Face models return them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torch_debugger.errors import UsageError
from torch_debugger.pictures.attending.maps import AttentionMaps, Weights, as_array

_FORMS = "[out, in], [heads, out, in], [batch, heads, out, in], or a list with one of these for each layer"


def given_maps(weights: Any) -> AttentionMaps:
    layers = _layers(weights)
    if not layers:
        raise UsageError(f"expected attention weights, {_FORMS}, but got an empty {type(weights).__name__}.")
    arrays = tuple(_checked(layer) for layer in layers)
    names = [f"layer {place}" for place in range(len(arrays))] if len(arrays) > 1 else ["attention"]
    return AttentionMaps(tuple(names), arrays)


def _layers(weights: Any) -> list[Any]:
    if isinstance(weights, (torch.Tensor, np.ndarray)):
        return list(weights) if weights.ndim == 5 else [weights]
    if not isinstance(weights, (list, tuple)):
        raise UsageError(
            f"expected a model or attention weights, {_FORMS}, but got {type(weights).__name__}. "
            "Of a Hugging Face output, give `output.attentions`."
        )
    if any(layer is None for layer in weights):
        raise UsageError(
            "the list of attention weights holds None: a model with fused attention returns none. "
            "Give the model itself, `pictures.attention(model, inputs)`: then they are recomputed."
        )
    is_numbers = weights and isinstance(weights[0], (list, tuple)) and not _holds_tensors(weights[0])
    return [np.asarray(weights)] if is_numbers else list(weights)


def _holds_tensors(value: Any) -> bool:
    return any(isinstance(each, (torch.Tensor, np.ndarray)) for each in value)


def _checked(layer: Any) -> Weights:
    if not isinstance(layer, (torch.Tensor, np.ndarray)):
        raise UsageError(f"expected attention weights, {_FORMS}, but a layer is a {type(layer).__name__}.")
    array = as_array(layer)
    if not 2 <= array.ndim <= 4 or 0 in array.shape:
        raise UsageError(f"expected attention weights, {_FORMS}, but one has shape {list(array.shape)}.")
    return array.reshape((1,) * (4 - array.ndim) + array.shape)
