"""The points of a curve that a picture of some width needs: of each bucket the first, the last, the least and
the greatest, and the first of each kind that is not finite, with their count. Nothing that stands out is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_debugger.viewer.curves.indexing import BLOCK, Floats, Index, Places

_BLOCKS_IN_A_BUCKET = (
    8  # from here on buckets begin where blocks do: at most a sixteenth of a bucket beside its place
)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    places: Places  # ascending
    edges: Places  # of the buckets, from the first to behind the last; empty where every point is chosen
    many: dict[int, int]  # a chosen place that is not finite -> how many of its kind its bucket has, if several


def choose(index: Index, low: float, high: float, width: int, log: bool = False) -> Chosen:
    """From `low` to `high`, and one point more on either side: that is where the line comes from."""
    start = max(0, int(np.searchsorted(index.x, low, "left")) - 1)
    end = min(len(index), int(np.searchsorted(index.x, high, "right")) + 1)
    if end - start <= 4 * width:
        return Chosen(np.arange(start, max(start, end)), np.empty(0, np.intp), {})
    if end - start >= width * BLOCK * _BLOCKS_IN_A_BUCKET:
        start, end = start // BLOCK * BLOCK, min(len(index), -(-end // BLOCK) * BLOCK)
        edges = _snapped(_edges(index, start, end, width, log))
        least, greatest = _of_blocks(index, edges)
    else:
        edges = _edges(index, start, end, width, log)
        least, greatest = _of_points(index, edges)
    odd, many = _not_finite(index, edges)
    places = np.unique(np.concatenate([edges[:-1], edges[1:] - 1, least, greatest, odd]))
    return Chosen(places, edges, many)


def means(index: Index, chosen: Chosen) -> tuple[Floats, Floats]:
    """The middle and the mean of each bucket that has finite values: what a smoothed line follows."""
    edges = chosen.edges
    if not len(edges):
        places = chosen.places[np.isfinite(index.y[chosen.places])]
        return index.x[places], index.y[places]
    with np.errstate(over="ignore"):
        if _on_blocks(index, edges):
            starts = edges[:-1] // BLOCK
            upto = -(-int(edges[-1]) // BLOCK)
            sums = np.add.reduceat(index.sums[:upto], starts)
            counts = np.add.reduceat(index.counts[:upto], starts)
        else:
            part = index.y[edges[0] : edges[-1]]
            finite = np.isfinite(part)
            sums = np.add.reduceat(np.where(finite, part, 0.0), edges[:-1] - edges[0])
            counts = np.add.reduceat(finite.astype(np.int64), edges[:-1] - edges[0])
    there = counts > 0
    return index.x[(edges[:-1] + edges[1:]) // 2][there], sums[there] / counts[there]


def _edges(index: Index, start: int, end: int, width: int, log: bool) -> Places:
    """Of equal width on the axis; buckets without a point are left out."""
    x = index.x[start:end]
    first = float(x[np.searchsorted(x, 0, "right")]) if log and x[-1] > 0 else float(x[0])
    spread = np.geomspace if log and x[-1] > 0 else np.linspace
    cuts = spread(first, float(x[-1]), width + 1)[1:-1]
    return np.unique(np.concatenate([[start], start + np.searchsorted(x, cuts), [end]])).astype(np.intp)


def _snapped(edges: Places) -> Places:
    inner = (edges[1:-1] + BLOCK // 2) // BLOCK * BLOCK
    inner = inner[(inner > edges[0]) & (inner < edges[-1])]
    return np.unique(np.concatenate([edges[:1], inner, edges[-1:]]))


def _on_blocks(index: Index, edges: Places) -> bool:
    return not (edges[:-1] % BLOCK).any() and (edges[-1] % BLOCK == 0 or edges[-1] == len(index))


def _of_blocks(index: Index, edges: Places) -> tuple[Places, Places]:
    first, upto = int(edges[0]) // BLOCK, -(-int(edges[-1]) // BLOCK)
    bounds = -(-edges // BLOCK) - first
    lowest, highest = index.lowest[first:upto], index.highest[first:upto]
    return lowest[_least(index.y[lowest], bounds)], highest[_least(-index.y[highest], bounds)]


def _of_points(index: Index, edges: Places) -> tuple[Places, Places]:
    part, bounds = index.y[edges[0] : edges[-1]], edges - edges[0]
    return edges[0] + _least(part, bounds), edges[0] + _least(-part, bounds)


def _least(values: Floats, bounds: Places) -> Places:
    """The place of the first least finite value of each stretch; of one that has none, any of it."""
    values = np.where(np.isfinite(values), values, np.inf)
    least = np.minimum.reduceat(values, bounds[:-1])
    hits = np.flatnonzero(values == np.repeat(least, np.diff(bounds)))
    owners = np.searchsorted(bounds, hits, "right") - 1
    return hits[np.unique(owners, return_index=True)[1]]


def _not_finite(index: Index, edges: Places) -> tuple[Places, dict[int, int]]:
    start, end = np.searchsorted(index.odd, [edges[0], edges[-1]])
    odd = index.odd[start:end]
    if not len(odd):
        return odd, {}
    kinds = np.where(np.isnan(index.y[odd]), 0, np.sign(index.y[odd]))  # of an infinity the sign
    owners = (np.searchsorted(edges, odd, "right") - 1) * 3 + kinds.astype(np.intp) + 1
    _, firsts, counts = np.unique(owners, return_index=True, return_counts=True)
    several = {int(odd[first]): int(count) for first, count in zip(firsts, counts, strict=True) if count > 1}
    return np.sort(odd[firsts]), several
