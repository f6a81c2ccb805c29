"""Images of a batch as they can be looked at: channels last, from 0 to 1, and what was done for it in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.pictures.paint import Floats

_MEAN, _STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet
_SLACK = 0.02
_ODD = (1.0, 0.0, 1.0)


def channels_last(values: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """[N, H, W, C] of pictures, films or volumes, and what was left out."""
    if values.ndim == 5:
        frames = 1 if values.shape[2] in (1, 3) and values.shape[1] not in (1, 3) else 2
        middle = values.shape[frames] // 2
        shown, said = channels_last(values.take(middle, axis=frames))
        return shown, [f"Of {values.shape[frames]} frames or slices number {middle} is shown.", *said]
    if values.ndim == 3:
        return values[..., None], []
    if has_channels_last(values):
        return _known_channels(values)
    return _known_channels(values.transpose(0, 2, 3, 1))


def has_channels_last(values: NDArray[Any]) -> bool:
    return values.ndim == 4 and values.shape[3] in (1, 3, 4) and values.shape[1] not in (1, 3, 4)


def _known_channels(values: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    count = values.shape[3]
    if count in (1, 3):
        return values, []
    kept = 3 if count == 4 else 1
    first = "the first three" if kept == 3 else "the first"
    return values[..., :kept], [f"Of {count} channels {first} {'are' if kept == 3 else 'is'} shown."]


def displayable(values: NDArray[Any]) -> tuple[Floats, list[str]]:
    """[N, H, W, 1 or 3] from 0 to 1, NaN in magenta. The numbers of the batch itself stay as they are."""
    floats = values.astype(np.float64)
    known = floats[np.isfinite(floats)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    shown, said = _into_unit(floats, values.dtype, low, high)
    rgb = np.repeat(shown, 3, axis=-1) if shown.shape[-1] == 1 else shown
    rgb = np.where(np.isfinite(rgb).all(axis=-1, keepdims=True), rgb, _ODD)
    return np.clip(rgb, 0, 1), [said] if said else []


def _into_unit(values: Floats, dtype: Any, low: float, high: float) -> tuple[Floats, str]:
    if dtype == np.uint8 or (low >= 0 and 1 + _SLACK < high <= 255):
        return values / 255, "" if dtype == np.uint8 else "For showing, divided by 255."
    if low >= -_SLACK and high <= 1 + _SLACK:
        return values, ""
    if low >= -1 - _SLACK and high <= 1 + _SLACK:
        return (values + 1) / 2, "For showing, moved from -1..1 to 0..1."
    undone = values * _STD + _MEAN if values.shape[-1] == 3 else values
    if low < -1 and values.shape[-1] == 3 and np.nanmin(undone) >= -_SLACK and np.nanmax(undone) <= 1 + _SLACK:
        return undone, "For showing, the normalisation with ImageNet's mean and deviation is undone."
    return (values - low) / (high - low), f"For showing, stretched from {low:.3g}..{high:.3g} to 0..1."
