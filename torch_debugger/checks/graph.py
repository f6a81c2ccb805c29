"""Finding the way through the recorded part of an autograd graph."""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import GraphNode, LossGraph, ModelFact, Place

# Ops that hand every value on unchanged: only the shape, the layout or the dtype differs.
SHAPE_ONLY = frozenset({
    "Alias", "Clone", "Flatten", "Movedim", "Permute", "Reshape", "ReshapeAlias", "Select", "Slice", "Squeeze",
    "SwapDims", "T", "ToCopy", "Transpose", "Unflatten", "UnsafeView", "Unsqueeze", "View",
})  # fmt: skip

# What (prediction - target) goes into where an error is written by hand.
BY_HAND = ("Pow", "Abs")


def operands(graph: LossGraph, node: GraphNode) -> Iterator[GraphNode]:
    """The nodes that made this node's operands; operands without a gradient have none."""
    for index in node.inputs:
        if index is not None and index < len(graph.nodes):
            yield graph.nodes[index]


def origin(graph: LossGraph, node: GraphNode) -> GraphNode:
    """The node whose values this one carries, shape-only ops skipped."""
    for _ in graph.nodes:  # a bound: a torn log may hold a loop
        following = next(operands(graph, node), None)
        if following is None or op_of(node) not in SHAPE_ONLY:
            break
        node = following
    return node


def prediction_in(graph: LossGraph, loss: GraphNode) -> GraphNode | None:
    """What a loss compares with the target; in one written by hand, the side that has a gradient."""
    taken = next(operands(graph, loss), None)
    if taken is None or op_of(loss) not in BY_HAND:
        return taken
    alone = op_of(taken) == "Sub" and taken.inputs.count(None) == 1
    return next(operands(graph, taken), None) if alone else None


def model_behind(graph: LossGraph, state: RunState) -> ModelFact | None:
    """The model whose parameters the graph ends in; the only model where the graph was cut short."""
    for node in graph.nodes:
        root = (node.parameter or "").split(".", 1)[0]
        if root in state.models:
            return state.models[root]
    return next(iter(state.models.values())) if len(state.models) == 1 else None


def line_of(graph: LossGraph, node: GraphNode) -> Place:
    """Where a loss function stands: its own call, else the line that computes the loss, else backward()."""
    if node.place is not None and node.place.file:
        return node.place
    return graph.made if graph.made.file else graph.place


def call_of(graph: LossGraph, node: GraphNode) -> Place:
    """The line that calls a loss function; never the one that makes a loss module."""
    makes = node.place is None or not node.place.file or "Loss(" in (node.place.code or "")
    return graph.made if makes and graph.made.file else line_of(graph, node)


def at(place: Place) -> str:
    """As in: the loss at train.py:40; nothing where the line is not known."""
    return f" at {place.file}:{place.line}" if place.file else ""
