"""Attention as the pictures use it: for each layer its name and one array [N, heads, out, in]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.errors import UsageError

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
    if batch and weights.ndim > 2 and weights.size // (out * looked_at) % batch == 0 and _leads(weights, batch):
        return weights.reshape(batch, -1, out, looked_at)
    if weights.ndim == 3:
        return weights[:, None]
    return weights.reshape(-1, weights.shape[-3] if weights.ndim > 3 else 1, out, looked_at)


def _leads(weights: Weights, batch: int) -> bool:
    """Windows of an image lie in the batch, in front of the heads; heads of old code in front of nothing."""
    return weights.shape[0] == batch or (weights.ndim == 3 and weights.shape[0] > batch)
