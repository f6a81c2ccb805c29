"""What flows between the operations of a model that are worth a box.

Views, casts and indices become words on the line between two boxes; parameters, buffers and constants
become part of whoever reads them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.records.op_graph import (
    BUFFER,
    CONSTANT,
    OPERATION,
    PARAMETER,
    GraphEdge,
    GraphNode,
    ModelGraph,
    TensorForm,
)

_OTHER_SHAPES = {
    "view", "reshape", "view_as", "reshape_as", "flatten", "unflatten", "ravel", "squeeze", "squeeze_",
    "unsqueeze", "unsqueeze_", "permute", "transpose", "transpose_", "t", "T", "mT", "H", "mH", "swapaxes",
    "swapdims", "movedim", "moveaxis", "expand", "expand_as", "broadcast_to", "as_strided", "unfold",
}  # fmt: skip
_PARTS = {"getitem", "chunk", "split", "tensor_split", "unbind", "narrow", "select", "diagonal", "real", "imag"}
_COPIES = {
    "contiguous", "clone", "detach", "data", "alias", "requires_grad_", "to", "type", "type_as", "cpu", "cuda",
    "float", "double", "half", "bfloat16", "long", "int", "bool",
}  # fmt: skip
_NUMBERS = {"item", "tolist", "numpy", "index", "complex"}  # that leave for Python
_PLUMBING = _OTHER_SHAPES | _PARTS | _COPIES | _NUMBERS
_DRAWS = ("rand", "normal", "bernoulli", "multinomial", "poisson", "uniform", "exponential")
_SOURCES = (PARAMETER, BUFFER, CONSTANT)


class Tensor(NamedTuple):
    """Which output of which node."""

    node: int
    output: int


class Flow(NamedTuple):
    tensor: Tensor
    target: int
    by: tuple[int, ...]  # nodes folded into the line, in order
    form: TensorForm  # as the target reads it


@dataclass
class Flows:
    lines: list[Flow] = field(default_factory=list)
    folded: set[int] = field(default_factory=set)  # nodes that have no box
    held: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))  # parameters read by a node


class _Origin(NamedTuple):
    tensor: Tensor
    by: tuple[int, ...]


class _Reached(NamedTuple):
    """What stands behind one tensor: what was computed, and which parameters."""

    origins: tuple[_Origin, ...]
    held: tuple[str, ...]


def flows_of(graph: ModelGraph, whole: set[str]) -> Flows:
    """`whole` names the calls that are one box each: nothing inside them is folded."""
    found = Flows()
    read: dict[int, list[GraphEdge]] = defaultdict(list)
    for edge in graph.edges:
        read[edge.target].append(edge)
    behind: dict[int, _Reached] = {}  # for each folded node
    for place, node in enumerate(graph.nodes):
        if node.kind in _SOURCES:
            found.folded.add(place)
            behind[place] = _Reached((), (_short(node),) if node.kind == PARAMETER else ())
            continue
        reached = [(edge, _reach(edge, behind)) for edge in read[place]]
        if node.scope not in whole and _is_folded(node, [each for _, each in reached]):
            found.folded.add(place)
            behind[place] = _through(place, [each for _, each in reached])
            continue
        _read(found, place, reached)
    return found


def _reach(edge: GraphEdge, behind: dict[int, _Reached]) -> _Reached:
    if edge.source in behind:
        return behind[edge.source]
    return _Reached((_Origin(Tensor(edge.source, edge.output), ()),), ())


def _through(place: int, reached: list[_Reached]) -> _Reached:
    origins = {
        origin.tensor: _Origin(origin.tensor, (*origin.by, place))
        for each in reached
        for origin in each.origins
    }
    return _Reached(tuple(origins.values()), tuple(name for each in reached for name in each.held))


def _is_folded(node: GraphNode, reached: list[_Reached]) -> bool:
    if node.kind != OPERATION:
        return False
    computed = {origin.tensor for each in reached for origin in each.origins}
    if not computed:
        is_constant = not any(each.held for each in reached) and not node.op.startswith(_DRAWS)
        return is_constant or node.op in _PLUMBING
    return is_plumbing(node) and len(computed) == 1


def is_plumbing(node: GraphNode) -> bool:
    return node.op in _PLUMBING


def _read(found: Flows, place: int, reached: list[tuple[GraphEdge, _Reached]]) -> None:
    for edge, each in reached:
        found.lines += [Flow(origin.tensor, place, origin.by, edge.form) for origin in each.origins]
        found.held[place] += [name for name in each.held if name not in found.held[place]]


def _short(node: GraphNode) -> str:
    """GPT/wte/weight -> wte.weight"""
    return ".".join(node.name.split("/")[1:])
