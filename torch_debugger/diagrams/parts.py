"""A model as a tree of parts: calls of modules in each other, operations between them, in the order they ran.

Each part is one stretch of time, so whatever is drawn as one box, no line leads back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch_debugger.diagrams.flows import Flows, flows_of, is_plumbing
from torch_debugger.records.op_graph import INPUT, MODULE, OPERATION, OUTPUT, GraphNode, GraphScope, ModelGraph

MODEL, REPEAT, PIECE = "model", "repeat", "piece"  # beside the kinds of nodes


@dataclass
class Part:
    key: str  # unique in a drawing
    kind: str  # model, module, operation, input, output; repeat: more of the same; piece: some of too many
    name: str
    path: str = ""  # of a module
    scope: str = ""  # the call whose operations stand directly in it
    module: str = ""  # its class
    call: int = 1
    nodes: list[int] = field(default_factory=list)  # of a box: what it stands for
    parts: list[Part] = field(default_factory=list)

    def all_parts(self) -> Iterator[Part]:
        waiting = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting += reversed(part.parts)

    @property
    def boxes(self) -> int:
        return sum(not part.parts for part in self.all_parts())


def parts_of(graph: ModelGraph) -> tuple[Part, Flows]:
    whole = _whole_calls(graph)
    flows = flows_of(graph, whole)
    return _Building(graph, whole, flows.folded).root(), flows


def _whole_calls(graph: ModelGraph) -> set[str]:
    """Calls that are one box: of at most one operation, beside views and casts. Not the user's own model."""
    callers = {graph_scope.caller for graph_scope in graph.scopes}
    told = [node for node in graph.nodes if node.kind in (OPERATION, MODULE)]
    busy = Counter(node.scope for node in told if node.kind == MODULE or not is_plumbing(node))
    found = {scope.name for scope in graph.scopes if scope.name not in callers and busy[scope.name] < 2}
    return found if not graph.modules or graph.modules[0].of_torch else found - {graph.scopes[0].name}


class _Building:
    def __init__(self, graph: ModelGraph, whole: set[str], folded: set[int]) -> None:
        self._graph = graph
        self._whole = whole
        self._folded = folded
        self._scopes = {scope.name: scope for scope in graph.scopes}
        self._keys: Counter[str] = Counter()
        top = graph.scopes[0] if graph.scopes else GraphScope("model", "", "", 1)
        self._root = Part("", MODEL, top.module, scope=top.name, module=top.module)
        self._open = [self._root]

    def root(self) -> Part:
        for place, node in enumerate(self._graph.nodes):
            if place not in self._folded:
                self._add(place, node)
        for part in self._root.all_parts():
            if part.kind == MODULE and [each.kind for each in part.parts] == [OPERATION]:
                part.nodes, part.parts = part.parts[0].nodes, []
        return self._root

    def _add(self, place: int, node: GraphNode) -> None:
        if node.kind in (INPUT, OUTPUT):
            self._root.parts.append(Part(self._key(node.name), node.kind, _named(node), nodes=[place]))
            return
        self._enter(self._chain(node.scope))
        above = self._open[-1]
        if node.scope in self._whole:
            above.nodes.append(place)
        else:
            name = node.op
            above.parts.append(Part(self._key(node.name), OPERATION, name, scope=node.scope, nodes=[place]))

    def _enter(self, chain: list[GraphScope]) -> None:
        """Leave the calls that have ended, and open those that have begun."""
        kept = 1
        while kept < len(self._open) and kept <= len(chain) and self._open[kept].scope == chain[kept - 1].name:
            kept += 1
        del self._open[kept:]
        for scope in chain[kept - 1 :]:
            name = relative_name(scope.path, self._open[-1].path) or scope.module
            part = Part(self._key(scope.name), MODULE, name, scope.path, scope.name, scope.module, scope.call)
            self._open[-1].parts.append(part)
            self._open.append(part)

    def _chain(self, name: str) -> list[GraphScope]:
        """From the outermost call below the model itself to that one; a model of one box is one itself."""
        found: list[GraphScope] = []
        while name in self._scopes and (name != self._root.scope or name in self._whole):
            found.append(self._scopes[name])
            name = found[-1].caller
        return found[::-1]

    def _key(self, name: str) -> str:
        self._keys[name] += 1
        return name if self._keys[name] == 1 else f"{name}~{self._keys[name]}"


def relative_name(path: str, above: str) -> str:
    """conv1 within layer1.0; layer1.0 within layer1, since `0` alone says little."""
    if not above or not path.startswith(f"{above}."):
        return path
    kept = above.split(".")
    inner = path[len(above) + 1 :]
    if not inner[0].isdigit():
        return inner
    words = [place for place, part in enumerate(kept) if not part.isdigit()]
    return ".".join([*kept[words[-1] if words else 0 :], inner])


def _named(node: GraphNode) -> str:
    """input/batch/image -> batch.image; output/0 -> output 0"""
    name = ".".join(node.name.split("/")[1:])
    return f"{node.kind} {name}".strip() if not name or name[0].isdigit() else name
