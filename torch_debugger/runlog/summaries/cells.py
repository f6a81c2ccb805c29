"""How many values lie between each two of TensorBoard's default edges, by the top bits of each float.

The first 20 bits of a float (sign, exponent and a part of the mantissa) name a cell that is much narrower than
the tenth by which the edges grow. A table says into which bin a cell falls; the few values whose cell holds
an edge are compared with the edges themselves, so the counts are exact.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]
_CELL_BITS = 20
_HALF = 1 << (_CELL_BITS - 1)  # cells of one sign
_CHUNK = 1 << 16  # values at once: what is made of them stays in the processor's cache
_FEW = 1 << 10  # values for which a search among the edges is cheaper


class _Form(NamedTuple):
    """How floats of one size are seen as whole numbers."""

    unsigned: str
    signed: str
    bits: int


_FORMS = {4: _Form("u4", "i4", 32), 8: _Form("u8", "i8", 64)}


@functools.cache
def default_edges() -> NDArray[np.float64]:
    """TensorBoard's own: from 1e-12 to 1e20 on both sides of zero, each a tenth above the one before."""
    sizes = [1e-12]
    while sizes[-1] * 1.1 < 1e20:
        sizes.append(sizes[-1] * 1.1)
    return np.array([*(-size for size in reversed(sizes)), 0.0, *sizes])


@functools.cache
def widest_edges() -> NDArray[np.float64]:
    """The default edges and all numbers beyond them, which would not be counted otherwise."""
    largest = np.finfo(np.float64).max
    return np.array([-largest, *default_edges(), largest])


def counts_by_cell(values: Floats) -> NDArray[np.int64]:
    """How many of the flat, finite values lie between each two of `widest_edges`."""
    bins = len(widest_edges()) - 1
    if len(values) <= _FEW:
        return _counts_by_search(values)
    form, table = _FORMS[values.itemsize], _table(values.dtype.str)
    counts = np.zeros(bins + 1, np.int64)
    near: list[Floats] = []
    for start in range(0, len(values), _CHUNK):
        part = values[start : start + _CHUNK]
        places = table.take(part.view(form.unsigned) >> (form.bits - _CELL_BITS))
        counts += np.bincount(places, minlength=bins + 1)
        near.append(part[np.flatnonzero(places == bins)])
    counts[:-1] += _counts_by_search(np.concatenate(near).astype(np.float64))
    return counts[:-1]


def _counts_by_search(values: Floats) -> NDArray[np.int64]:
    bins = len(widest_edges()) - 1
    places = np.searchsorted(widest_edges(), values.astype(np.float64), side="right") - 1
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)  # the last bin holds its upper limit


@functools.cache
def _table(dtype: str) -> NDArray[np.int64]:
    """The bin of every cell, positive numbers first; the number of bins where a cell holds an edge."""
    floats = np.dtype(dtype)
    form = _FORMS[floats.itemsize]
    edges = widest_edges()
    sizes = edges[(edges > 0) & (edges <= np.finfo(floats).max)].astype(floats)
    held = np.bincount(sizes.view(form.signed) >> (form.bits - _CELL_BITS), minlength=_HALF)
    below = np.cumsum(held) - held
    bins, middle = len(edges) - 1, len(edges) // 2
    above_zero = np.where(held > 0, bins, middle + below)
    below_zero = np.where(held > 0, bins, middle - 1 - below)
    below_zero[0] = bins  # it holds -0.0, which lies above the edge at zero
    return np.concatenate([above_zero, below_zero]).astype(np.int64)
