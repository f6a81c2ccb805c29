"""Numbers to colours: an array becomes red, green and blue, and what is no number stands out."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.pictures.canvas import MAGNITUDE, SIGNED, to_unit

Floats = NDArray[np.float64]
_ODD = (1.0, 0.0, 1.0)  # NaN and Inf: a colour that no map of ours has


def as_array(tensor: torch.Tensor) -> Floats:
    """Of any dtype, layout and device."""
    values = tensor.detach()
    values = values.dequantize() if values.is_quantized else values.to_dense()
    array: Floats = (values.abs() if values.is_complex() else values).to(torch.float64).cpu().numpy()
    return array


def paint(values: NDArray[Any], colours: str, low: float, high: float) -> Floats:
    """[...] to [..., 3], from `low` to `high`."""
    unit = (np.asarray(values, dtype=np.float64) - low) / ((high - low) or 1.0)
    rgb: Floats = matplotlib.colormaps[colours](np.where(np.isfinite(unit), unit, 0.0))[..., :3]
    rgb[~np.isfinite(unit)] = _ODD
    return rgb


def paint_signed(values: NDArray[Any], reach: float | None = None) -> Floats:
    """White is zero, blue below, red above; up to the greatest of these values, or to `reach`."""
    reach = (largest(values) if reach is None else reach) or 1.0
    return paint(values, SIGNED, -reach, reach)


def paint_map(values: NDArray[Any], signed: bool) -> Floats:
    """Over its own range: around zero, or from zero up where nothing is negative."""
    return paint_signed(values) if signed else paint(values, MAGNITUDE, 0.0, largest(values))


def paint_natural(values: NDArray[Any]) -> Floats:
    """[..., 3] taken as red, green and blue, from the least to the greatest."""
    unit = to_unit(values)
    unit[np.isnan(unit).any(axis=-1)] = _ODD
    return unit


def largest(values: NDArray[Any]) -> float:
    """The greatest magnitude among those that are finite; 0 where there are none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def number(value: float) -> str:
    """As short as it can be read: 0.12, 3.4e-05, 1200"""
    return f"{value:.2g}" if abs(value) < 100 or abs(value) >= 1e5 else f"{value:.0f}"
