"""Counts of CPU values between TensorBoard's default edges, by the top bits of each float.

The first 20 bits of a float (sign, exponent and a part of the mantissa) name a cell that is much narrower than
the tenth by which the edges grow. A table says into which bin a cell falls; the few values whose cell holds
an edge are compared with the edges themselves, so the counts are exact.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

_CELL_BITS = 20
_HALF = 1 << (_CELL_BITS - 1)  # cells of one sign
_CHUNK = 1 << 16  # values at once: what is made of them stays in the processor's cache


class _Form(NamedTuple):
    """How the floats of one dtype are seen as whole numbers."""

    floats: str
    whole: str
    signed: str  # the same size, as torch wants it
    bits: int


_FORMS = {torch.float32: _Form("f4", "u4", "i4", 32), torch.float64: _Form("f8", "u8", "i8", 64)}


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


def counts_by_cell(values: torch.Tensor) -> NDArray[np.int64]:
    """How many of the finite, flat float32 or float64 values lie between each two of `widest_edges`."""
    form, table = _FORMS[values.dtype], _table(values.dtype)
    bins = len(widest_edges()) - 1
    counts = torch.zeros(bins + 1, dtype=torch.int64)
    near: list[NDArray[np.floating]] = []
    for part in np.split(values.numpy(), range(_CHUNK, len(values), _CHUNK)):
        cells = part.view(form.whole) >> (form.bits - _CELL_BITS)
        places = table.index_select(0, torch.from_numpy(cells.view(form.signed)))
        counts += torch.bincount(places, minlength=bins + 1)
        near.append(part[np.flatnonzero(places.numpy() == bins)])
    exact, _ = np.histogram(np.concatenate(near).astype(np.float64), widest_edges())
    answer: NDArray[np.int64] = counts[:-1].numpy() + exact
    return answer


@functools.cache
def _table(dtype: torch.dtype) -> torch.Tensor:
    """The bin of every cell, positive numbers first; the number of bins where a cell holds an edge."""
    form = _FORMS[dtype]
    edges = widest_edges()
    sizes = edges[(edges > 0) & (edges <= np.finfo(form.floats).max)].astype(form.floats)
    held = np.bincount(sizes.view(form.signed) >> (form.bits - _CELL_BITS), minlength=_HALF)
    below = np.cumsum(held) - held
    bins, middle = len(edges) - 1, len(edges) // 2
    above_zero = np.where(held > 0, bins, middle + below)
    below_zero = np.where(held > 0, bins, middle - 1 - below)
    below_zero[0] = bins  # it holds -0.0, which lies above the edge at zero
    return torch.from_numpy(np.concatenate([above_zero, below_zero]).astype(np.int32))
