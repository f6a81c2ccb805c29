"""Values to a histogram: how large they are, and how many of them lie in each bucket."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import HistogramSummary

Edges = NDArray[np.float64]
Counts = NDArray[np.int64]
Bins = str | int | list[float] | Edges  # "tensorflow", a rule of numpy, how many, or the edges themselves
_MOST_BINS = 100_000  # numpy's own rules ask for billions where one value lies far from the others


class Moments(NamedTuple):
    minimum: float = 0.0
    maximum: float = 0.0
    size: int = 0
    total: float = 0.0
    squares: float = 0.0


class MeasuredValues(NamedTuple):
    """Of the values that are finite; the others are counted apart."""

    moments: Moments
    edges: Edges
    counts: Counts
    nan: int
    inf: int


def measure_values(values: Floats, bins: Bins) -> MeasuredValues:
    finite, nan, inf = _finite(values)
    edges = edges_for(finite, bins)
    counts = counts_by_cell(finite) if edges is widest_edges() else np.histogram(_wide(finite), edges)[0]
    return MeasuredValues(_moments(finite), edges, counts, nan, inf)


def histogram_of(measured: MeasuredValues, step: int, time: float, tag: str, max_bins: int | None) -> HistogramSummary:
    edges, counts = measured.edges, measured.counts
    if edges is widest_edges() and not counts[0] and not counts[-1]:
        edges, counts = edges[1:-1], counts[1:-1]
    limits, filled = _support(*_joined(edges, counts, max_bins))
    low, high, size, total, squares = measured.moments
    return HistogramSummary(
        step, time, tag, low, high, size, total, squares, limits, filled, measured.nan, measured.inf
    )


def edges_for(values: Floats, bins: Bins) -> Edges:
    if not isinstance(bins, (str, int)):
        return np.asarray(bins, np.float64)
    if bins == "tensorflow" or not len(values):
        return widest_edges()
    try:
        edges: Edges = np.histogram_bin_edges(_wide(values), bins)
    except (ValueError, MemoryError, OverflowError):
        np.histogram_bin_edges(np.arange(3.0), bins)  # raises where it is no rule at all
        return widest_edges()
    return edges if len(edges) <= _MOST_BINS else widest_edges()


def _finite(values: Floats) -> tuple[Floats, int, int]:
    """The values that are, and how many are NaN and how many infinite."""
    if not len(values) or (np.isfinite(values.min()) and np.isfinite(values.max())):
        return values, 0, 0
    finite = values[np.isfinite(values)]
    nan = int(np.isnan(values).sum())
    return finite, nan, len(values) - len(finite) - nan


def _moments(values: Floats) -> Moments:
    if not len(values):
        return Moments()
    wide = _wide(values)
    with np.errstate(over="ignore"):  # the squares of what is larger than 1e154
        sums = float(wide.sum()), float(wide.dot(wide))
    return Moments(float(values.min()), float(values.max()), len(values), *sums)


def _wide(values: Floats) -> NDArray[np.float64]:
    return values.astype(np.float64, copy=False)


def _joined(edges: Edges, counts: Counts, max_bins: int | None) -> tuple[Edges, Counts]:
    """As many neighbours put together as it takes to come near `max_bins`."""
    if max_bins is None or len(counts) <= max_bins:
        return edges, counts
    together = len(counts) // max(1, max_bins)
    padded = np.concatenate([counts, np.zeros(-len(counts) % together, np.int64)])
    return np.append(edges[:-1:together], edges[-1]), padded.reshape(-1, together).sum(axis=1)


def _support(edges: Edges, counts: Counts) -> tuple[Edges, NDArray[np.float64]]:
    """From the first bin that holds something to the last. TensorBoard knows upper limits only, so an
    empty bin in front gives the lowest limit."""
    filled = np.flatnonzero(counts)
    if not len(filled):
        return np.zeros(1), np.zeros(1)
    first, last = int(filled[0]), int(filled[-1])
    return edges[first : last + 2].copy(), np.concatenate([[0.0], counts[first : last + 1]])


# How many values lie between each two of TensorBoard's default edges, by the top bits of each float.
#
# The first 20 bits of a float (sign, exponent and a part of the mantissa) name a cell that is much narrower than the
# tenth by which the edges grow. A table says into which bin a cell falls; the few values whose cell holds an edge are
# compared with the edges themselves, so the counts are exact.
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
    edge_counts = np.bincount(sizes.view(form.signed) >> (form.bits - _CELL_BITS), minlength=_HALF)
    below = np.cumsum(edge_counts) - edge_counts
    bins, middle = len(edges) - 1, len(edges) // 2
    above_zero = np.where(edge_counts > 0, bins, middle + below)
    below_zero = np.where(edge_counts > 0, bins, middle - 1 - below)
    below_zero[0] = bins  # it holds -0.0, which lies above the edge at zero
    return np.concatenate([above_zero, below_zero]).astype(np.int64)
