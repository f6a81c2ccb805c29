"""The graph that `add_graph` has logged, as a model's operations, whoever wrote it."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from torch_debugger.log.decoder_values import SummaryValue
from torch_debugger.log.protobuf import as_bytes, fields, message, signed
from torch_debugger.records.model import (
    BUFFER,
    CONSTANT,
    INPUT,
    OPERATION,
    OUTPUT,
    PARAMETER,
    UNKNOWN_FORM,
    GraphEdge,
    GraphModule,
    GraphNode,
    GraphScope,
    ModelGraph,
    TensorForm,
)

_ATTRIBUTE_NAME = re.compile(r"\bname\s*:\s*(\S+)")
_MOST_OUTPUTS = 1000
_WHOLE = "graph"  # around a graph whose parts lie in no scope that all share
_MOST_DETAIL = 300


def graphs(step: int, time: float, value: SummaryValue) -> Iterator[ModelGraph]:
    yield model_graph(read_graph_def(value.body))


def model_graph(graph: GraphDef) -> ModelGraph:
    return _GraphBuilder(graph).graph()


class _GraphBuilder:
    def __init__(self, graph: GraphDef) -> None:
        self._graph = graph
        self._notes = [node.texts["detail"] for node in graph.nodes if _is_note(node) and "detail" in node.texts]
        self._nodes, self._circles = ordered([node for node in graph.nodes if not _is_note(node)])
        self._roles: Roles = _Reading(self._nodes).roles()
        self._kept = [place for place, kind in enumerate(self._roles.kinds) if kind != GONE]
        self._levels = [levels_of(node.name) for node in self._nodes]
        named = [self._levels[at] for at in self._kept if self._roles.kinds[at] not in (INPUT, OUTPUT)]
        self._wrap = len({levels[:1] for levels in named}) != 1 or not named[0]
        self._root = _WHOLE if self._wrap else named[0][0]
        self._paths = WholePaths()
        self._scopes: dict[str, GraphScope] = {}
        self._modules: dict[str, tuple[str, str]] = {}  # class and detail, by path

    def graph(self) -> ModelGraph:
        for place in self._kept:
            self._learn(place)
        self._paths.start_over()
        self._enter((self._root,), "")
        places = {place: at for at, place in enumerate(self._kept)}
        # Of each node one shape for every output that is named or read.
        most = {place: max([0, *self._roles.shapes[place]]) for place in self._kept}
        for place in self._kept:
            for source, output in self._roles.sources[place]:
                most[source] = max(most[source], min(output, _MOST_OUTPUTS))
        named = self._roles.shapes
        shapes = {place: [named[place].get(output) for output in range(most[place] + 1)] for place in self._kept}
        made = [self._node(place, shapes[place]) for place in self._kept]
        edges = [
            GraphEdge(places[source], output, at, made[places[source]].outputs[output])
            for at, place in enumerate(self._kept)
            for source, output in self._roles.sources[place]
            if places[source] < at and output < len(made[places[source]].outputs)
        ]
        sizes = self._sizes(made)
        modules = tuple(
            GraphModule(path, kind, sizes.get(path, 0), False, detail)
            for path, (kind, detail) in sorted(self._modules.items(), key=lambda each: each[0] != "")
        )
        return ModelGraph(tuple(made), tuple(edges), tuple(self._scopes.values()), self._note(), modules)

    def _around(self, place: int) -> Levels:
        return (_WHOLE, *self._levels[place]) if self._wrap else self._levels[place]

    def _learn(self, place: int) -> None:
        if self._roles.kinds[place] != OPERATION:
            return
        for source, _ in self._roles.sources[place]:
            if self._roles.kinds[source] == PARAMETER and self._nodes[source].op == "prim::GetAttr":
                self._paths.learn(self._around(place), self._around(source)[:-1])

    def _node(self, place: int, shapes: list[Shape]) -> GraphNode:
        node, kind = self._nodes[place], self._roles.kinds[place]
        forms = tuple(_form(shape, node) for shape in shapes)
        if kind in (INPUT, OUTPUT):
            name = node.name if node.name.startswith(f"{kind}/") else f"{kind}/{node.name}"
            return GraphNode(name, kind, kind, "", forms)
        if kind == PARAMETER and node.op == "prim::GetAttr":
            # Net/layers/0/conv1/weight, of Net/Sequential[layers]/.../weight/weight.5
            around = self._around(place)
            said = _ATTRIBUTE_NAME.search(node.texts.get("attr", ""))
            own = said[1] if said else around[-1]
            name = "/".join([around[0], *(level(each).name for each in around[1:-1]), own])
            return GraphNode(name, kind, kind, "", forms)
        self._learn(place)
        scope = self._enter(self._around(place), node.texts.get("module", ""))
        op = node.op.rpartition("::")[2] or "operation"
        name = f"{_WHOLE}/{node.name}" if self._wrap else node.name
        return GraphNode(name, kind, op, scope, forms, node.texts.get("detail", "")[:_MOST_DETAIL])

    def _enter(self, around: Levels, module: str) -> str:
        """The scope's name; those around it are made as well."""
        caller = ""
        for count in range(1, len(around) + 1):
            whole = self._paths.whole(around, count)
            name, path = "/".join(whole), path_of(whole)
            class_name, _, detail = module.partition("(") if count == len(around) else ("", "", "")
            kind = class_name or level(whole[-1]).module or ("" if path else whole[-1])
            for inner in range(2, len(whole) + 1):  # lists of modules, which nobody calls
                self._modules.setdefault(path_of(whole[:inner]), (level(whole[inner - 1]).module, ""))
            if name not in self._scopes or (kind and not self._scopes[name].module):
                said = detail.removesuffix(")")
                self._scopes[name] = GraphScope(name, path, kind, 1, said, caller)
                self._modules[path] = (kind, said)
            caller = name
        return caller

    def _sizes(self, made: list[GraphNode]) -> dict[str, int]:
        """The numbers in the parameters of each scope, with all below it, as far as their shapes are told."""
        sizes: dict[str, int] = {}
        counted: set[str] = set()
        for node in made:
            shared = node.detail.removeprefix("the same as ") != node.detail  # our own writer's second drawing
            if node.kind != PARAMETER or shared or node.name in counted or node.outputs[0] == UNKNOWN_FORM:
                continue
            counted.add(node.name)
            scope = node.scope
            while scope:
                sizes[scope] = sizes.get(scope, 0) + max(0, math.prod(node.outputs[0].shape))
                scope = self._scopes[scope].caller
        by_path: dict[str, int] = {}
        for scope, size in sizes.items():
            path = self._scopes[scope].path
            by_path[path] = by_path.get(path, 0) + size
        return by_path

    def _note(self) -> str:
        graph = self._graph
        controls = sum(node.controls for node in graph.nodes)
        said = [
            (graph.left_out, "more node was left out.", "more nodes were left out."),
            (graph.functions, "function of its library is not drawn.", "functions of its library are not drawn."),
            (controls, "control input, which carries no tensor, is not drawn.",
             "control inputs, which carry no tensor, are not drawn."),
            (self._circles, "line that leads back in a circle had to be cut.",
             "lines that lead back in a circle had to be cut."),
        ]  # fmt: skip
        counted = [f"{count:,} {one if count == 1 else several}" for count, one, several in said if count]
        return " ".join([*self._notes, *counted])


def _is_note(node: LoggedNode) -> bool:
    """Our own writer's sentence on what is missing."""
    return node.op == "Note" and node.name == "note"


def _form(shape: Shape, node: LoggedNode) -> TensorForm:
    return UNKNOWN_FORM if shape is None else TensorForm(shape, node.dtype, node.device)


# Where in a model a node stands, told from its name: `Net/Sequential[layers]/Block[0]/Conv2d[conv1]/577`.
#
# torch names the modules that were called, so lists of modules are missing: the names of their parameters have them.
_CLASS_AND_NAME = re.compile(r"([A-Za-z_]\w*)\[(.+)\]", re.DOTALL)
_MOST_LEVELS = 24  # deeper ones stay in one name

Levels = tuple[str, ...]  # the parts of a name between slashes


class Level(NamedTuple):
    module: str  # its class, where that is told
    name: str


def levels_of(name: str) -> Levels:
    """The scopes around a node, the outermost first."""
    *around, _ = name.split("/")
    if len(around) > _MOST_LEVELS:
        around = [*around[: _MOST_LEVELS - 1], "/".join(around[_MOST_LEVELS - 1 :])]
    return tuple(around)


def level(text: str) -> Level:
    found = _CLASS_AND_NAME.fullmatch(text)
    return Level(found[1], found[2]) if found else Level("", text)


def path_of(levels: Levels) -> str:
    """layers.0.conv1: without the model itself."""
    return ".".join(level(each).name for each in levels[1:])


class WholePaths:
    """Learns from the parameters that operations read which lists their modules are in."""

    def __init__(self) -> None:
        self._known: dict[Levels, Levels] = {}
        self._first: dict[Levels, Levels] = {}

    def learn(self, called: Levels, defined: Levels) -> None:
        """`called` as an operation's name has it, `defined` as the name of its parameter has it."""
        ends = _matched(called, defined)
        for count, end in enumerate(ends, 1):
            self._known[called[:count]] = defined[:end]
            self._first.setdefault(called[:count], defined[:end])

    def whole(self, called: Levels, count: int) -> Levels:
        """The levels of the first `count`, with the lists among them."""
        for known in range(count, 0, -1):
            found = self._known.get(called[:known]) or self._first.get(called[:known])
            if found is not None:
                return (*found, *called[known:count])
        return called[:count]

    def start_over(self) -> None:
        """Before the graph is gone through again: what is not known yet then is what comes first."""
        self._known.clear()


def _matched(called: Levels, defined: Levels) -> list[int]:
    """How far into the definition each level of the call reaches; empty where they do not fit."""
    ends: list[int] = []
    at = 0
    for each in called:
        while at < len(defined) and defined[at] != each:
            at += 1
        if at == len(defined):
            return []
        at += 1
        ends.append(at)
    fits = bool(ends) and ends[-1] == len(defined) and ends[0] == 1
    return ends if fits else []


# What each node of a GraphDef is to a reader: an operation, what it reads, or what only passes things on.
#
# torch.jit's traces have a node for every constant, list and size, and one node for each output of an operation.

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


class _Reading:
    """Of nodes in an order in which sources stand first."""

    def __init__(self, nodes: list[LoggedNode]) -> None:
        self._nodes = nodes
        self._places = {node.name: place for place, node in enumerate(nodes)}
        self._inputs = [
            [(self._places[name], output) for name, output in node.inputs if name in self._places] for node in nodes
        ]
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

    def _kind(self, place: int, node: LoggedNode, is_read: bool) -> str:
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

    def _pass(self, place: int, node: LoggedNode) -> list[Source]:
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

    def _counts(self, place: int, node: LoggedNode) -> bool:
        """Whether it is a size, or made from sizes alone: a number for a view, no data."""
        if node.op in _SIZES:
            return True
        read = [source for source, _ in self._inputs[place]]
        are_sizes = [source < place and self._is_size[source] for source in read]
        others = [self._nodes[source].op for source, size in zip(read, are_sizes, strict=True) if not size]
        return node.op in _ON_SIZES and any(are_sizes) and all(op == "prim::Constant" for op in others)


def _turns(nodes: list[LoggedNode]) -> list[int]:
    """0, or how many nodes before this one the first output of the same operation stands."""
    found: list[int] = []
    for node, before in zip(nodes, itertools.chain([None], nodes), strict=False):
        alike = (
            before is not None
            and node.inputs
            and "::" in node.op
            and (node.op, node.inputs, node.texts) == (before.op, before.inputs, before.texts)
        )
        found.append(found[-1] + 1 if alike else 0)
    return found


def ordered(nodes: list[LoggedNode]) -> tuple[list[LoggedNode], int]:
    """Sources first, else as they stand; and how many lines lead back, in circles, and were cut."""
    nodes = sorted(nodes, key=lambda node: node.op == "IO Node" and bool(node.inputs))  # outputs stand first
    places = {node.name: place for place, node in enumerate(nodes)}
    waits = [{places[name] for name, _ in node.inputs if name in places} - {at} for at, node in enumerate(nodes)]
    if all(max(sources, default=-1) < place for place, sources in enumerate(waits)):
        return nodes, 0
    return _sorted(nodes, waits)


def _sorted(nodes: list[LoggedNode], waits: list[set[int]]) -> tuple[list[LoggedNode], int]:
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


# GraphDef, field by field, as graph.proto, node_def.proto and attr_value.proto number them.
MOST_NODES = 100_000

_GRAPH_NODE, _GRAPH_LIBRARY, _LIBRARY_FUNCTION = 1, 2, 1
_NODE_NAME, _NODE_OP, _NODE_INPUT, _NODE_DEVICE, _NODE_ATTRIBUTE = 1, 2, 3, 4, 5
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
_VALUE_LIST, _VALUE_TEXT, _VALUE_TYPE, _VALUE_SHAPE = 1, 2, 6, 7
_LIST_SHAPE = 7
_SHAPE_DIMENSION, _SHAPE_UNKNOWN_RANK, _DIMENSION_SIZE = 2, 3, 1

# DataType in types.proto; from 101 on the same as references.
_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "str", 8: "complex64",
    9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 17: "uint16",
    18: "complex128", 19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip
_REFERENCES = 100
_OUTPUT = re.compile(r"(.+):(\d{1,6})", re.DOTALL)

Shape = tuple[int, ...] | None  # None where not even the number of dimensions is known


class LoggedNode(NamedTuple):
    name: str
    op: str
    inputs: list[tuple[str, int]]  # of which node, and which of its outputs
    controls: int  # inputs that carry no tensor
    device: str
    texts: dict[str, str]  # attributes that are text
    shapes: list[Shape]  # of the outputs, as far as they are told
    dtype: str


class GraphDef(NamedTuple):
    nodes: list[LoggedNode]
    functions: int  # kept apart in its library
    left_out: int  # nodes beyond the most


def read_graph_def(data: bytes) -> GraphDef:
    """Raises ValueError for what is none."""
    bodies: list[bytes] = []
    functions = left_out = 0
    for number, value in fields(data):
        if number == _GRAPH_NODE and len(bodies) < MOST_NODES:
            bodies.append(as_bytes(value))
        elif number == _GRAPH_NODE:
            left_out += 1
        elif number == _GRAPH_LIBRARY:
            functions += sum(inner == _LIBRARY_FUNCTION for inner, _ in fields(as_bytes(value)))
    raw = [list(fields(body)) for body in bodies]
    names = {_text(value) for parts in raw for number, value in parts if number == _NODE_NAME}
    return GraphDef([_node(parts, names) for parts in raw], functions, left_out)


def _node(parts: list[tuple[int, Any]], names: set[str]) -> LoggedNode:
    name = op = device = ""
    inputs: list[tuple[str, int]] = []
    controls = 0
    attributes: dict[str, dict[int, Any]] = {}
    for number, value in parts:
        if number == _NODE_NAME:
            name = _text(value)
        elif number == _NODE_OP:
            op = _text(value)
        elif number == _NODE_DEVICE:
            device = _text(value)
        elif number == _NODE_INPUT:
            said = _text(value)
            controls += said.startswith("^")
            inputs += [] if said.startswith("^") else [_input(said, names)]
        elif number == _NODE_ATTRIBUTE:
            entry = message(as_bytes(value))
            attributes[_text(entry.get(_ENTRY_KEY, b""))] = message(as_bytes(entry.get(_ENTRY_VALUE, b"")))
    texts = {key: _text(each[_VALUE_TEXT]) for key, each in attributes.items() if _VALUE_TEXT in each}
    return LoggedNode(name, op, inputs, controls, device, texts, _shapes(attributes), _dtype(attributes, texts))


def _input(said: str, names: set[str]) -> tuple[str, int]:
    """`name`, or `name:1` for another output than the first; a name may itself hold a colon."""
    found = None if said in names else _OUTPUT.fullmatch(said)
    return (found[1], int(found[2])) if found else (said, 0)


def _shapes(attributes: dict[str, dict[int, Any]]) -> list[Shape]:
    output_shapes = attributes.get("_output_shapes", {}).get(_VALUE_LIST)
    if output_shapes is not None:
        return [_shape(as_bytes(value)) for number, value in fields(as_bytes(output_shapes)) if number == _LIST_SHAPE]
    one = attributes.get("shape", {}).get(_VALUE_SHAPE)
    return [] if one is None else [_shape(as_bytes(one))]


def _shape(data: bytes) -> Shape:
    sizes: list[int] = []
    for number, value in fields(data):
        if number == _SHAPE_UNKNOWN_RANK and value:
            return None
        if number == _SHAPE_DIMENSION:
            sizes.append(signed(int(message(as_bytes(value)).get(_DIMENSION_SIZE, 0))))
    return tuple(sizes)


def _dtype(attributes: dict[str, dict[int, Any]], texts: dict[str, str]) -> str:
    for key in ("dtype", "T"):
        number = attributes.get(key, {}).get(_VALUE_TYPE)
        if isinstance(number, int):
            return _TYPES.get(number % _REFERENCES, "")
    return texts.get("dtype", "")


def _text(value: Any) -> str:
    return as_bytes(value).decode("utf-8", "replace")
