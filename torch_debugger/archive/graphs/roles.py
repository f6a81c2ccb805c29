"""What each node of a GraphDef is to a reader: an operation, what it reads, or what only passes things on.

torch.jit's traces have a node for every constant, list and size, and one node for each output of an operation.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NamedTuple

from torch_debugger.archive.graphs.graph_def import Node, Shape
from torch_debugger.records.op_graph import BUFFER, CONSTANT, INPUT, OPERATION, OUTPUT, PARAMETER

# Never drawn: what only leads to a module, sizes as numbers, and what other nodes stand for.
GONE = "gone"
_MOST_SOURCES = 1000

_OWN_WORDS = {"Input": INPUT, "Output": OUTPUT, "Parameter": PARAMETER, "Buffer": BUFFER, "Constant": CONSTANT}
_TENSORFLOW = {
    "Placeholder": INPUT, "PlaceholderWithDefault": INPUT, "Const": CONSTANT, "VarHandleOp": PARAMETER,
    "Variable": PARAMETER, "VariableV2": PARAMETER, "NoOp": GONE,
}  # fmt: skip
_PACKING = {"prim::ListConstruct", "prim::TupleConstruct"}
_UNPACKING = {"prim::ListUnpack", "prim::TupleUnpack"}
_SIZES = {"aten::size", "aten::Int", "aten::ScalarImplicit", "prim::NumToTensor", "onnx::Shape"}
_ON_SIZES = {"aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floor_divide", "aten::remainder"}

Source = tuple[int, int]  # which node, and which of its outputs


class Roles(NamedTuple):
    kinds: list[str]
    sources: list[list[Source]]  # of each node: what it reads, through whatever only passes it on
    shapes: list[dict[int, Shape]]  # of each node, by output


def roles_of(nodes: list[Node]) -> Roles:
    """`nodes` in an order in which sources stand first."""
    return _Reading(nodes).roles()


class _Reading:
    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._places = {node.name: place for place, node in enumerate(nodes)}
        self._inputs = [self._inputs_of(node) for node in nodes]
        self._shapes: list[dict[int, Shape]] = [dict(enumerate(node.shapes)) for node in nodes]
        self._turn = _turns(nodes)
        self._kinds: list[str] = []
        self._passed: list[list[Source]] = []  # what each node gives to its readers
        self._is_size: list[bool] = []

    def roles(self) -> Roles:
        read = {source for place, node in enumerate(self._nodes) if node.op != "prim::GetAttr"
                for source, _ in self._inputs[place]}  # fmt: skip
        for place, node in enumerate(self._nodes):
            self._is_size.append(self._counts(place, node))
            self._kinds.append(self._kind(place, node, place in read))
            self._passed.append(self._pass(place, node))
        sources = [self._resolved(self._inputs[place]) for place in range(len(self._nodes))]
        return Roles(self._kinds, sources, self._shapes)

    def _inputs_of(self, node: Node) -> list[Source]:
        return [(self._places[name], output) for name, output in node.inputs if name in self._places]

    def _kind(self, place: int, node: Node, is_read: bool) -> str:
        if node.op == "IO Node":
            return OUTPUT if self._inputs[place] or node.name.startswith("output/") else INPUT
        if node.op == "prim::GetAttr":
            return PARAMETER if is_read else GONE
        if node.op == "prim::Constant":
            return CONSTANT
        if node.op in _PACKING or node.op in _UNPACKING or self._is_size[place] or self._turn[place]:
            return GONE
        known = _OWN_WORDS.get(node.op) or _TENSORFLOW.get(node.op)
        foreign = known is None and "::" not in node.op and node.op[:1].isupper()
        if foreign and not self._resolved(self._inputs[place]):
            return INPUT  # TensorFlow's many ways to come by data
        return known or OPERATION

    def _pass(self, place: int, node: Node) -> list[Source]:
        if node.op in _PACKING:
            return self._resolved(self._inputs[place])
        if node.op in _UNPACKING:
            return self._unpacked(place)
        if self._turn[place]:  # another output of the node before
            first = place - self._turn[place]
            self._shapes[first][self._turn[place]] = self._shapes[place].get(0)
            return [(first, self._turn[place])]
        return [] if self._kinds[place] == GONE else [(place, 0)]

    def _unpacked(self, place: int) -> list[Source]:
        """Of what was packed by hand its own part; of an operation's list the output of that number."""
        turn = self._turn[place]
        if not self._inputs[place]:
            return []
        source, _ = self._inputs[place][0]
        if self._nodes[source].op in _PACKING:
            packed = self._inputs[source]
            return self._resolved(packed[turn : turn + 1] if turn < len(packed) else packed)
        passed = self._passed[source] if source < place else []
        if len(passed) == 1 and self._kinds[passed[0][0]] == OPERATION:
            self._shapes[passed[0][0]][turn] = self._shapes[place].get(0)
            return [(passed[0][0], turn)]
        return passed

    def _resolved(self, inputs: list[Source]) -> list[Source]:
        found: dict[Source, None] = {}
        for source, output in inputs:
            passed = self._passed[source] if source < len(self._passed) else []
            if passed == [(source, 0)] and output:
                passed = [(source, output)]
            found.update(dict.fromkeys(passed))
            if len(found) > _MOST_SOURCES:
                break
        return list(found)

    def _counts(self, place: int, node: Node) -> bool:
        """Whether it is a size, or made from sizes alone: a number for a view, no data."""
        if node.op in _SIZES:
            return True
        read = [source for source, _ in self._inputs[place]]
        told = [source < place and self._is_size[source] for source in read]
        others = [self._nodes[source].op for source, size in zip(read, told, strict=True) if not size]
        return node.op in _ON_SIZES and any(told) and all(op == "prim::Constant" for op in others)


def _turns(nodes: list[Node]) -> list[int]:
    """0, or how many nodes before this one the first output of the same operation stands."""
    found: list[int] = []
    for node, before in zip(nodes, itertools.chain([None], nodes), strict=False):
        same = before is not None and node.inputs and "::" in node.op
        alike = same and before is not None and _call(node) == _call(before)
        found.append(found[-1] + 1 if alike else 0)
    return found


def _call(node: Node) -> object:
    return node.op, node.inputs, node.texts


def ordered(nodes: list[Node]) -> tuple[list[Node], int]:
    """Sources first, else as they stand; and how many lines lead back, in circles, and were cut."""
    nodes = sorted(nodes, key=lambda node: node.op == "IO Node" and bool(node.inputs))  # outputs stand first
    places = {node.name: place for place, node in enumerate(nodes)}
    waits = [
        {places[name] for name, _ in node.inputs if name in places} - {at} for at, node in enumerate(nodes)
    ]
    if all(max(sources, default=-1) < place for place, sources in enumerate(waits)):
        return nodes, 0
    return _sorted(nodes, waits)


def _sorted(nodes: list[Node], waits: list[set[int]]) -> tuple[list[Node], int]:
    """Depth first, by hand: a graph may be deeper than Python's stack."""
    order: list[int] = []
    state: Counter[int] = Counter()  # 1 while what it waits for is looked at, 2 when it has its place
    cut = 0
    for first in range(len(nodes)):
        way = [first] if not state[first] else []
        while way:
            place = way[-1]
            if state[place] == 0:
                state[place] = 1
                cut += sum(state[source] == 1 for source in waits[place])
                way += sorted((source for source in waits[place] if not state[source]), reverse=True)
                continue
            way.pop()
            if state[place] == 1:
                state[place] = 2
                order.append(place)
    return [nodes[place] for place in order], cut
