"""What can be told of a layer at a step: each number, and how it is read from the tables of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import TensorRows
from torch_debugger.viewer.grids import UNMEASURED

Values = NDArray[np.float64]

# The largest number of a type; those that are not here reach as far as float32.
_LARGEST = {"float16": 65504.0, "float64": float(np.finfo(np.float64).max)}
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_SMALLEST_FLOAT16 = 2.0**-24


@dataclass(frozen=True)
class Number:
    key: str
    title: str
    unit: str
    scale: str  # log | share (0 to 1) | signed (zero is the middle) | bits (it is, where some lie below)
    says: str  # one sentence: what is counted
    kinds: tuple[str, ...]  # of the tables it is read from
    read: Callable[[TensorRows], Values]


def _column(name: str) -> Callable[[TensorRows], Values]:
    return lambda rows: _values(rows, name)


def _values(rows: TensorRows, column: str) -> Values:
    return rows.values[:, rows.table.columns.index(column)].astype(np.float64)


def _size(rows: TensorRows) -> Values:
    """Root of the mean square."""
    return np.hypot(_values(rows, "mean"), _values(rows, "std"))


def _largest(rows: TensorRows) -> Values:
    return np.maximum(np.abs(_values(rows, "min")), np.abs(_values(rows, "max")))


def _own_headroom(rows: TensorRows) -> Values:
    types = rows.table.dtypes or ("float32",) * len(rows.table.names)
    limits = np.array([_LARGEST.get(each, _LARGEST_FLOAT32) for each in types])
    return _bits(_largest(rows), limits)


def _half_headroom(rows: TensorRows) -> Values:
    return _bits(_largest(rows), np.array(_LARGEST["float16"]))


def _half_depth(rows: TensorRows) -> Values:
    sizes = _size(rows)
    return _bits(np.full_like(sizes, _SMALLEST_FLOAT16), sizes)


def _bits(small: Values, large: Values) -> Values:
    """How often the small one can be doubled until it is the large one; what is zero has no such number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((small == 0) | (large == 0), UNMEASURED, np.log2(large) - np.log2(small))


OUTPUTS = ("activation",)
GRADIENTS = ("output_gradient",)
LAYER_NUMBERS = (
    Number("activation.mean", "Mean of outputs", "", "signed",
           "The mean of everything a layer put out in one forward.", OUTPUTS, _column("mean")),
    Number("activation.std", "Deviation of outputs", "", "log",
           "The standard deviation of everything a layer put out in one forward.", OUTPUTS, _column("std")),
    Number("activation.zeros", "Zeros in outputs", "share", "share",
           "The share of a layer's outputs that are exactly zero.", OUTPUTS, _column("zeros")),
    Number("gradient.size", "Gradient of outputs", "", "log",
           "How large the gradient that came back to a layer's output was: the root of its mean square.",
           GRADIENTS, _size),
    Number("headroom.own", "Headroom", "bits", "bits",
           "How often a layer's largest output could double before it overflows the type it is kept in.",
           ("activation", "range"), _own_headroom),
    Number("headroom.float16", "Headroom in float16", "bits", "bits",
           "How often a layer's largest output could double before it would overflow float16 (65504). "
           "Below zero: it does not fit.", ("activation", "range"), _half_headroom),
    Number("depth.float16", "Gradient room in float16", "bits", "bits",
           "How often the gradient of a layer's output could be halved before float16 would make zero of it. "
           "Below zero: most of it is lost without a loss scale.", GRADIENTS, _half_depth),
)  # fmt: skip
