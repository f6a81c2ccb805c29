"""A histogram with as many bins as a tracker takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.media import Histogram

_MOST_BINS = 512  # of W&B and Trackio


def counts_and_edges(histogram: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As numpy.histogram gives them; neighbours are joined where there are too many, and no count is lost."""
    edges = np.append(histogram.lefts[:1], histogram.rights)
    joined = -(-len(histogram.counts) // _MOST_BINS)
    if joined > 1:
        starts = np.arange(0, len(histogram.counts), joined)
        return np.add.reduceat(histogram.counts, starts), np.append(edges[starts], edges[-1])
    return histogram.counts, edges
