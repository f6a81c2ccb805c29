"""The nodes of a recorded autograd graph by what they do: found once for all checks that ask."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from torch_debugger.records import GraphNode, LossGraph

_latest: list[tuple[LossGraph, Mapping[str, list[int]]]] = []  # one at most; a dozen checks ask in turn


def op_of(node: GraphNode) -> str:
    """Autograd numbers the variants of an op (SumBackward0, SumBackward1); they are one op here."""
    return _without_number(node.op)


@functools.lru_cache(maxsize=1024)
def _without_number(op: str) -> str:
    return op.split("Backward", 1)[0]


def numbers_by_op(graph: LossGraph) -> Mapping[str, list[int]]:
    """Each op with the numbers of its nodes, in their order."""
    if not _latest or _latest[0][0] is not graph:
        found: dict[str, list[int]] = {}
        for number, node in enumerate(graph.nodes):
            found.setdefault(_without_number(node.op), []).append(number)
        _latest[:] = [(graph, found)]
    return _latest[0][1]


def nodes_with(graph: LossGraph, ops: Iterable[str]) -> list[GraphNode]:
    """The nodes of these ops, in the order of the graph."""
    known = numbers_by_op(graph)
    return [graph.nodes[number] for number in sorted([each for op in ops for each in known.get(op, ())])]
