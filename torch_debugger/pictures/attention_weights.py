"""Attention as the pictures use it: for each layer its name and one array [N, heads, out, in]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from torch_debugger.system.errors import UsageError

Weights = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class AttentionMaps:
    layers: tuple[str, ...]
    weights: tuple[Weights, ...]

    def of_sample(self, sample: int) -> list[Weights]:
        """[heads, out, in] of each layer."""
        count = min(len(weights) for weights in self.weights)
        if not -count <= sample < count:
            raise UsageError(f"sample={sample} was asked for, but the batch has {count}, counted from 0.")
        return [weights[sample] for weights in self.weights]

    def depth(self) -> str:
        return "1 layer" if len(self.layers) == 1 else f"{len(self.layers)} layers"

    def example(self, sample: int) -> str:
        """Words for a title, where there are several."""
        count = min(len(weights) for weights in self.weights)
        return f", example {sample % count} of {count}" if count > 1 else ""


def as_array(weights: Any) -> Weights:
    """float32, or float64 where that came."""
    if isinstance(weights, torch.Tensor):
        weights = weights.detach().to("cpu")
        weights = weights if weights.dtype == torch.float64 else weights.float()
    array = np.asarray(weights)
    return array if array.dtype == np.float64 else array.astype(np.float32)


def four_dimensional(weights: Weights, batch: int | None = None) -> Weights:
    """[N, heads, out, in] of what lies there as [N, out, in], [N * heads, out, in] or with more dimensions.

    `batch` is the number of examples, where it is known.
    """
    out, looked_at = weights.shape[-2:]
    # Windows of an image lie in the batch, in front of the heads; heads of old code in front of nothing.
    leads = weights.shape[0] == batch or (weights.ndim == 3 and batch and weights.shape[0] > batch)
    if batch and leads and weights.ndim > 2 and weights.size // (out * looked_at) % batch == 0:
        return weights.reshape(batch, -1, out, looked_at)
    if weights.ndim == 3:
        return weights[:, None]
    return weights.reshape(-1, weights.shape[-3] if weights.ndim > 3 else 1, out, looked_at)


# Attention that was given: one tensor, or one for each layer as Hugging Face models return them.
_FORMS = "[out, in], [heads, out, in], [batch, heads, out, in], or a list with one of these for each layer"


def maps_of_weights(weights: Any, layers: Layers) -> AttentionMaps:
    """Of the layers that are meant."""
    if isinstance(weights, (torch.Tensor, np.ndarray)):
        several = list(weights) if weights.ndim == 5 else [weights]
    elif not isinstance(weights, (list, tuple)):
        raise UsageError(
            f"expected a model or attention weights, {_FORMS}, but got {type(weights).__name__}. "
            "Of a Hugging Face output, give `output.attentions`."
        )
    elif any(layer is None for layer in weights):
        raise UsageError(
            "the list of attention weights holds None: a model with fused attention returns none. "
            "Give the model itself, `pictures.attention(model, inputs)`: then they are recomputed."
        )
    else:
        first = weights[0] if weights else None
        is_numbers = isinstance(first, (list, tuple)) and not any(
            isinstance(each, (torch.Tensor, np.ndarray)) for each in first
        )
        several = [np.asarray(weights)] if is_numbers else list(weights)
    if not several:
        raise UsageError(f"expected attention weights, {_FORMS}, but got an empty {type(weights).__name__}.")
    arrays = []
    for layer in several:
        if not isinstance(layer, (torch.Tensor, np.ndarray)):
            raise UsageError(f"expected attention weights, {_FORMS}, but a layer is a {type(layer).__name__}.")
        array = as_array(layer)
        if not 2 <= array.ndim <= 4 or 0 in array.shape:
            raise UsageError(f"expected attention weights, {_FORMS}, but one has shape {list(array.shape)}.")
        arrays.append(array.reshape((1,) * (4 - array.ndim) + array.shape))
    names = [f"layer {place}" for place in range(len(arrays))] if len(arrays) > 1 else ["attention"]
    wanted = None if layers is None else [layers] if isinstance(layers, (str, int, nn.Module)) else list(layers)
    patterns = None if wanted is None else [each for each in wanted if isinstance(each, (str, int))]
    if wanted is not None and patterns is not None and len(patterns) < len(wanted):
        raise UsageError("layers of given weights are chosen by their places, counted from 0, not by modules.")
    kept = [place for place, name in enumerate(names) if is_meant(name, place, patterns)]
    if not kept:
        raise UsageError(none_of_these(names))
    return AttentionMaps(tuple(names[place] for place in kept), tuple(arrays[place] for place in kept))


# Which layers and heads are meant.
Layers = str | int | nn.Module | Sequence[str | int | nn.Module] | None
Patterns = Sequence[str | int] | None  # None for all
Heads = int | str | Sequence[int] | None
_FUSED: dict[str, Callable[..., Weights]] = {"mean": np.mean, "max": np.max, "min": np.min}


def is_meant(name: str, order: int, patterns: Patterns) -> bool:
    """By place, by path or pattern; a block means the attention inside of it."""
    if patterns is None or order in patterns:
        return True
    path = name.partition("#")[0]
    texts = [wanted for wanted in patterns if isinstance(wanted, str)]
    return any(fnmatchcase(name, each) or fnmatchcase(path, each) or path.startswith(f"{each}.") for each in texts)


def none_of_these(names: Sequence[str]) -> str:
    some = ", ".join(f"`{name}`" for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"no layer that was asked for attends. These do, counted from 0: {some}{more}."


def chosen_heads(maps: Weights, heads: Heads, layer: str) -> tuple[list[str], Weights]:
    """Labels and maps [chosen, out, in] of [heads, out, in]; "mean" and "max" make one of all."""
    if isinstance(heads, str):
        return [f"{heads} of {len(maps)} heads"], fused(maps, heads)[None]
    wanted = list(range(len(maps))) if heads is None else [heads] if isinstance(heads, int) else list(heads)
    if not wanted:
        raise UsageError("heads=[] asks for no head at all: leave it out for all of them.")
    beyond = [head for head in wanted if not -len(maps) <= head < len(maps)]
    if beyond:
        raise UsageError(f"head {beyond[0]} was asked for, but `{layer}` has {len(maps)}, counted from 0.")
    return [f"head {head % len(maps)}" for head in wanted], maps[wanted]


def fused(maps: Weights, how: str) -> Weights:
    """[out, in] of [heads, out, in]"""
    if how not in _FUSED:
        raise UsageError(f"heads are put together as {', '.join(map(repr, _FUSED))}, but heads={how!r} came.")
    return _FUSED[how](maps, axis=0)
