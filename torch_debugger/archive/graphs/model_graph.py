"""The graph that `add_graph` has logged, as a model's operations, whoever wrote it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from torch_debugger.archive.graphs.graph_def import GraphDef, Node, Shape, read_graph_def
from torch_debugger.archive.graphs.module_paths import Levels, WholePaths, level, levels_of, path_of
from torch_debugger.archive.graphs.roles import GONE, Roles, ordered, roles_of
from torch_debugger.archive.parsing import Value
from torch_debugger.records.op_graph import (
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


def graphs(step: int, time: float, value: Value) -> Iterator[ModelGraph]:
    yield model_graph(read_graph_def(value.body))


def model_graph(graph: GraphDef) -> ModelGraph:
    return _Making(graph).graph()


class _Making:
    def __init__(self, graph: GraphDef) -> None:
        self._graph = graph
        self._notes = [
            node.texts["detail"] for node in graph.nodes if _is_note(node) and "detail" in node.texts
        ]
        self._nodes, self._circles = ordered([node for node in graph.nodes if not _is_note(node)])
        self._roles: Roles = roles_of(self._nodes)
        self._kept = [place for place, kind in enumerate(self._roles.kinds) if kind != GONE]
        self._levels = [levels_of(node.name) for node in self._nodes]
        self._wrap = self._needs_root()
        self._paths = WholePaths()
        self._scopes: dict[str, GraphScope] = {}
        self._modules: dict[str, tuple[str, str]] = {}  # class and detail, by path

    def graph(self) -> ModelGraph:
        self._learn_paths()
        self._paths.start_over()
        self._enter((self._root(),), "")
        places = {place: at for at, place in enumerate(self._kept)}
        shapes = self._all_shapes()
        made = [self._node(place, shapes[place]) for place in self._kept]
        edges = [
            GraphEdge(places[source], output, at, made[places[source]].outputs[output])
            for at, place in enumerate(self._kept)
            for source, output in self._roles.sources[place]
            if places[source] < at and output < len(made[places[source]].outputs)
        ]
        modules = self._graph_modules(self._sizes(made))
        return ModelGraph(tuple(made), tuple(edges), tuple(self._scopes.values()), self._note(), modules)

    def _needs_root(self) -> bool:
        told = [self._levels[at] for at in self._kept if self._roles.kinds[at] not in (INPUT, OUTPUT)]
        return len({levels[:1] for levels in told}) != 1 or not told[0]

    def _root(self) -> str:
        if self._wrap:
            return _WHOLE
        return next(self._levels[at][0] for at in self._kept if self._roles.kinds[at] not in (INPUT, OUTPUT))

    def _around(self, place: int) -> Levels:
        return (_WHOLE, *self._levels[place]) if self._wrap else self._levels[place]

    def _learn_paths(self) -> None:
        for place in self._kept:
            self._learn(place)

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
            return GraphNode(self._parameter_name(place), kind, kind, "", forms)
        self._learn(place)
        scope = self._enter(self._around(place), node.texts.get("module", ""))
        op = node.op.rpartition("::")[2] or "operation"
        return GraphNode(
            self._whole_name(place), kind, op, scope, forms, node.texts.get("detail", "")[:_MOST_DETAIL]
        )

    def _whole_name(self, place: int) -> str:
        name = self._nodes[place].name
        return f"{_WHOLE}/{name}" if self._wrap else name

    def _parameter_name(self, place: int) -> str:
        """Net/layers/0/conv1/weight, of Net/Sequential[layers]/.../weight/weight.5"""
        around = self._around(place)
        said = _ATTRIBUTE_NAME.search(self._nodes[place].texts.get("attr", ""))
        name = said[1] if said else around[-1]
        return "/".join([around[0], *(level(each).name for each in around[1:-1]), name])

    def _enter(self, around: Levels, module: str) -> str:
        """The scope's name; those around it are made as well."""
        caller = ""
        for count in range(1, len(around) + 1):
            whole = self._paths.whole(around, count)
            name, path = "/".join(whole), path_of(whole)
            told, _, detail = module.partition("(") if count == len(around) else ("", "", "")
            kind = told or level(whole[-1]).module or ("" if path else whole[-1])
            for inner in range(2, len(whole) + 1):  # lists of modules, which nobody calls
                self._modules.setdefault(path_of(whole[:inner]), (level(whole[inner - 1]).module, ""))
            if name not in self._scopes or (kind and not self._scopes[name].module):
                said = detail.removesuffix(")")
                self._scopes[name] = GraphScope(name, path, kind, 1, said, caller)
                self._modules[path] = (kind, said)
            caller = name
        return caller

    def _all_shapes(self) -> dict[int, list[Shape]]:
        """Of each node one for every output that is told or read."""
        most = {place: max([0, *self._roles.shapes[place]]) for place in self._kept}
        for place in self._kept:
            for source, output in self._roles.sources[place]:
                most[source] = max(most[source], min(output, _MOST_OUTPUTS))
        told = self._roles.shapes
        return {place: [told[place].get(output) for output in range(most[place] + 1)] for place in self._kept}

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

    def _graph_modules(self, sizes: dict[str, int]) -> tuple[GraphModule, ...]:
        return tuple(
            GraphModule(path, kind, sizes.get(path, 0), False, detail)
            for path, (kind, detail) in sorted(self._modules.items(), key=lambda each: each[0] != "")
        )

    def _note(self) -> str:
        graph = self._graph
        said = [
            (graph.left_out, "more node was left out.", "more nodes were left out."),
            (
                graph.functions,
                "function of its library is not drawn.",
                "functions of its library are not drawn.",
            ),
            (
                sum(node.controls for node in graph.nodes),
                "control input, which carries no tensor, is not drawn.",
                "control inputs, which carry no tensor, are not drawn.",
            ),
            (
                self._circles,
                "line that leads back in a circle had to be cut.",
                "lines that lead back in a circle had to be cut.",
            ),
        ]
        counted = [f"{count:,} {one if count == 1 else several}" for count, one, several in said if count]
        return " ".join([*self._notes, *counted])


def _is_note(node: Node) -> bool:
    """Our own writer's sentence on what is missing."""
    return node.op == "Note" and node.name == "note"


def _form(shape: Shape, node: Node) -> TensorForm:
    return UNKNOWN_FORM if shape is None else TensorForm(shape, node.dtype, node.device)
