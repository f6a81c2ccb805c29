"""Values to a histogram, on the device that holds them; one small copy comes to the host."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.records import HistogramSummary
from torch_debugger.summaries.arrays import as_array, as_real_tensor
from torch_debugger.summaries.cells import counts_by_cell, widest_edges

Edges = NDArray[np.float64]
Bins = str | int | list[float] | Edges
_MOST_BINS = 100_000  # numpy's own rules ask for billions where one value lies far from the others
_EXACT = (torch.float32, torch.float64)
_LONG = (torch.int32, torch.int64, torch.uint32, torch.uint64)


class Moments(NamedTuple):
    minimum: float = 0.0
    maximum: float = 0.0
    total: float = 0.0
    squares: float = 0.0


class Measured(NamedTuple):
    moments: Moments
    edges: Edges
    counts: NDArray[np.int64]
    size: int  # of the values that are finite
    nan: int
    inf: int


def measure(values: Any, bins: Bins) -> Measured:
    """Of the finite values; those that are not are counted apart."""
    flat = _flat_floats(as_real_tensor(values))
    moments, nan, inf = _moments(flat), 0, 0
    if not math.isfinite(moments.minimum) or not math.isfinite(moments.maximum):
        finite = flat[flat.isfinite()]
        nan = int(flat.isnan().sum())
        inf = flat.numel() - finite.numel() - nan
        flat, moments = finite, _moments(finite)
    edges = _edges(flat, moments, bins)
    counts = _counts(flat, edges)
    if edges is widest_edges() and not counts[0] and not counts[-1]:
        edges, counts = edges[1:-1], counts[1:-1]
    return Measured(moments, edges, counts, flat.numel(), nan, inf)


def histogram_summary(
    measured: Measured, step: int, time: float, tag: str, max_bins: int | None
) -> HistogramSummary:
    limits, counts = _support(*_joined(measured.edges, measured.counts, max_bins))
    return HistogramSummary(
        step, time, tag, *measured.moments[:2], measured.size, *measured.moments[2:], limits, counts
    )


def _flat_floats(values: torch.Tensor) -> torch.Tensor:
    """Exactly the same numbers, as float32 where it can hold them."""
    if values.dtype not in _EXACT:
        wide = values.dtype in _LONG and values.device.type != "mps"  # which has no float64
        values = values.to(torch.float64 if wide else torch.float32)
    return values.reshape(-1)


def _moments(values: torch.Tensor) -> Moments:
    if not values.numel():
        return Moments()
    numbers = torch.stack([*torch.aminmax(values), values.sum(), values.dot(values)])
    moments = Moments(*numbers.tolist())
    if math.isfinite(moments.maximum - moments.minimum) and not math.isfinite(moments.squares):
        wide = as_array(values).astype(np.float64)  # float32 is too narrow for the squares
        return moments._replace(total=float(wide.sum()), squares=float(wide.dot(wide)))
    return moments


def _edges(values: torch.Tensor, moments: Moments, bins: Bins) -> Edges:
    if not isinstance(bins, (str, int)):
        return np.asarray(bins, np.float64)
    if bins == "tensorflow" or not values.numel():
        return widest_edges()
    known = np.array(moments[:2]) if isinstance(bins, int) else as_array(values).astype(np.float64)
    try:
        edges: Edges = np.histogram_bin_edges(known, bins)
    except (ValueError, MemoryError, OverflowError):
        np.histogram_bin_edges(np.arange(3.0), bins)  # raises where it is no rule at all
        return widest_edges()
    return edges if len(edges) <= _MOST_BINS else widest_edges()


def _counts(values: torch.Tensor, edges: Edges) -> NDArray[np.int64]:
    if values.device.type != "cpu":
        return _counts_on_device(values, edges)
    if edges is widest_edges():
        return counts_by_cell(values)
    counts, _ = np.histogram(values.double().numpy(), edges)
    return counts


def _counts_on_device(values: torch.Tensor, edges: Edges) -> NDArray[np.int64]:
    limits = torch.from_numpy(edges).to(values.device, values.dtype)
    bins = len(edges) - 1
    places = torch.bucketize(values, limits, right=True)
    places[values == limits[-1]] = bins  # the last bin holds its upper limit
    counts: NDArray[np.int64] = torch.bincount(places, minlength=bins + 2)[1 : bins + 1].cpu().numpy()
    return counts


def _joined(edges: Edges, counts: NDArray[np.int64], max_bins: int | None) -> tuple[Edges, NDArray[np.int64]]:
    """As many neighbours put together as it takes to come near `max_bins`."""
    if max_bins is None or len(counts) <= max_bins:
        return edges, counts
    together = len(counts) // max(1, max_bins)
    padded = np.concatenate([counts, np.zeros(-len(counts) % together, np.int64)])
    return np.append(edges[:-1:together], edges[-1]), padded.reshape(-1, together).sum(axis=1)


def _support(edges: Edges, counts: NDArray[np.int64]) -> tuple[Edges, NDArray[np.float64]]:
    """From the first bin that holds something to the last. TensorBoard knows upper limits only, so an
    empty bin in front gives the lowest limit."""
    filled = np.flatnonzero(counts)
    if not len(filled):
        return np.zeros(1), np.zeros(1)
    first, last = int(filled[0]), int(filled[-1])
    return edges[first : last + 2].copy(), np.concatenate([[0.0], counts[first : last + 1]])
