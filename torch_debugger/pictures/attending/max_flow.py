"""The greatest flow through layers of nodes: the widest path that is still open is filled, until none is left.

Every edge leads from a node of one layer to one of the layer below, so a layer's edges are one matrix, and all
its nodes are looked at together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.floating[Any]]
_LITTLE = 1e-6  # a path that carries less is closed: rows sum to 1


def max_flow(capacities: Matrix, source: int, sink: int) -> float:
    """From a node of the uppermost layer to one of the lowest; `capacities` is [layers, above, below].

    `capacities[-1]` are the edges that leave the uppermost nodes, `capacities[0]` those that end in the lowest.
    """
    open_paths = _OpenPaths(capacities, source, sink)
    total = 0.0
    while (width := open_paths.widest()) > _LITTLE:
        open_paths.fill(width)
        total += width
    return total


class _OpenPaths:
    def __init__(self, capacities: Matrix, source: int, sink: int) -> None:
        layers, nodes = capacities.shape[:2]
        self._down = capacities.transpose(0, 2, 1).astype(np.float64, order="C")  # [to below, from above]
        self._back = np.zeros_like(self._down)  # what was sent may be taken back; [to above, from below]
        self._source, self._sink = source, sink
        self._widths = np.zeros((layers + 1, nodes))  # what can reach each node by one path
        self._from = np.zeros((layers + 1, nodes), dtype=np.intp)  # the node before it on that path
        self._from_above = np.ones((layers + 1, nodes), dtype=bool)  # and the side it comes from

    def widest(self) -> float:
        """How much one more path from source to sink can carry."""
        layers = len(self._down)
        self._widths[:] = 0
        self._widths[layers, self._source] = np.inf
        changed = True
        while changed:
            for level in reversed(range(layers)):
                self._reach(level, level + 1, self._down[level], True)
            changed = False
            for level in range(1, layers - 1):  # nothing has to return to the uppermost nodes
                changed |= self._reach(level + 1, level, self._back[level], False)
        return float(self._widths[0, self._sink])

    def _reach(self, level: int, start: int, edges: Matrix, is_down: bool) -> bool:
        """Whether some nodes of `level` are reached by wider paths, from those of `start`."""
        carried = np.minimum(self._widths[start], edges)
        best = carried.argmax(axis=1)
        width = carried[np.arange(len(best)), best]
        wider = width > self._widths[level]
        self._widths[level, wider] = width[wider]
        self._from[level, wider] = best[wider]
        self._from_above[level, wider] = is_down
        return bool(wider.any())

    def fill(self, width: float) -> None:
        level, node = 0, self._sink
        while (level, node) != (len(self._down), self._source):
            before = int(self._from[level, node])
            if self._from_above[level, node]:
                self._down[level, node, before] -= width
                self._back[level, before, node] += width
                level += 1
            else:
                level -= 1
                self._down[level, before, node] += width
                self._back[level, node, before] -= width
            node = before
