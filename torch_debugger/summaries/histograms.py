"""Values to a histogram: counted on the device that holds them, or by the log's thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from torch_debugger.records import HistogramSummary, UncountedSummary
from torch_debugger.runlog.summaries.buckets import (
    Bins,
    Counts,
    Edges,
    Measured,
    Moments,
    edges_for,
    histogram_of,
    measure_values,
)
from torch_debugger.summaries.arrays import as_array, as_real_tensor

_EXACT = (torch.float32, torch.float64)
_LONG = (torch.int32, torch.int64, torch.uint32, torch.uint64)


def histogram_record(
    moment: tuple[int, float],
    tag: str,
    values: Any,
    bins: Bins,
    max_bins: int | None,
    has_room: Callable[[int], bool],
) -> HistogramSummary | UncountedSummary:
    """Where the log has room for them, a copy of values on the host is left for its thread to count."""
    given = as_real_tensor(values)
    flat = _flat_floats(given)
    if flat.device.type != "cpu":
        return histogram_of(_measure_on_device(flat, bins), *moment, tag, max_bins)
    array = flat.numpy()
    if isinstance(bins, str) and bins == "tensorflow" and has_room(array.nbytes):
        mine = array.copy() if given.dtype in _EXACT else array
        return UncountedSummary(*moment, tag, mine, max_bins)
    return histogram_of(measure_values(array, bins), *moment, tag, max_bins)


def _flat_floats(values: torch.Tensor) -> torch.Tensor:
    """Exactly the same numbers, as float32 where it can hold them."""
    if values.dtype not in _EXACT:
        wide = values.dtype in _LONG and values.device.type != "mps"  # which has no float64
        values = values.to(torch.float64 if wide else torch.float32)
    return values.reshape(-1)


def _measure_on_device(values: torch.Tensor, bins: Bins) -> Measured:
    moments, nan, inf = _moments(values), 0, 0
    if not math.isfinite(moments.minimum) or not math.isfinite(moments.maximum):
        finite = values[values.isfinite()]
        nan = int(values.isnan().sum())
        inf = values.numel() - finite.numel() - nan
        values, moments = finite, _moments(finite)
    known = np.array(moments[:2]) if isinstance(bins, int) else np.zeros(values.numel() and 1)
    named = isinstance(bins, str) and bins != "tensorflow"
    edges = edges_for(as_array(values) if named else known, bins)  # type: ignore[arg-type]
    return Measured(moments, edges, _counts(values, edges), nan, inf)


def _moments(values: torch.Tensor) -> Moments:
    """One small copy comes to the host."""
    count = values.numel()
    if not count:
        return Moments()
    low, high, total, squares = torch.stack([*torch.aminmax(values), values.sum(), values.dot(values)]).tolist()
    if math.isfinite(high - low) and not math.isfinite(squares):  # float32 is too narrow for the squares
        largest = max(abs(low), abs(high))
        scaled = values / largest
        total, squares = float(scaled.sum()) * largest, float(scaled.dot(scaled)) * largest**2
    return Moments(low, high, count, total, squares)


def _counts(values: torch.Tensor, edges: Edges) -> Counts:
    limits = torch.from_numpy(edges).to(values.device, values.dtype)
    bins = len(edges) - 1
    places = torch.bucketize(values, limits, right=True)
    places[values == limits[-1]] = bins  # the last bin holds its upper limit
    counts: Counts = torch.bincount(places, minlength=bins + 2)[1 : bins + 1].cpu().numpy()
    return counts
