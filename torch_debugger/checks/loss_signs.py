"""With which sign each part enters a loss: followed down from the loss, as far as sums and factors go."""

from __future__ import annotations

from torch_debugger.checks.graph import SHAPE_ONLY
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.records import GraphNode, LossGraph

_PASSING = SHAPE_ONLY | {"Mean", "Sum", "Expand", "Nansum", "Stack", "Cat"}


def signs(graph: LossGraph) -> dict[int, int]:
    """1 for what is minimised, -1 for what is maximised, by the number of the node; what enters with both
    signs, or by a product of two unknowns, has none."""
    found: dict[int, int] = {}
    unclear: set[int] = set()
    waiting = [(0, 1)] if graph.nodes else []
    while waiting:
        index, sign = waiting.pop()
        if index in unclear or found.get(index) == sign:
            continue
        if found.setdefault(index, sign) != sign:
            unclear.add(index)
        waiting += _handed_on(graph.nodes[index], sign, len(graph.nodes))
    return {index: sign for index, sign in found.items() if index not in unclear}


def ends(graph: LossGraph, found: dict[int, int]) -> list[int]:
    """The parts themselves: what the sums and factors lead to."""
    return [index for index in found if not any(below in found for below in graph.nodes[index].inputs)]


def _handed_on(node: GraphNode, sign: int, count: int) -> list[tuple[int, int]]:
    factors = _factors(node)
    pairs = zip(node.inputs, factors, strict=False)
    return [(below, sign * factor) for below, factor in pairs if below is not None and below < count and factor]


def _factors(node: GraphNode) -> list[int]:
    """The sign that each operand gets; nothing where the op is no sum and no product with a number."""
    op, alpha = op_of(node), 1 if float(node.saved.get("alpha", 1)) > 0 else -1
    if op in _PASSING:
        return [1] * len(node.inputs)
    if op in ("Neg", "Rsub"):  # other - input
        return [-1, 1]
    if op == "Add":
        return [1, alpha]
    if op == "Sub":
        return [1, -alpha]
    factor = float(node.saved.get("factor", 0.0))
    if op in ("Mul", "Div") and factor:
        return [1 if factor > 0 else -1] * len(node.inputs)
    return []
