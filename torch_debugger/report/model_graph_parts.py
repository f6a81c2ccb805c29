"""A model as a tree of parts: calls of modules in each other, operations between them, in the order they ran.

Each part is one stretch of time, so whatever is drawn as one box, no line leads back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.records.model import (
    BUFFER,
    CONSTANT,
    INPUT,
    MODULE,
    OPERATION,
    OUTPUT,
    PARAMETER,
    GraphEdge,
    GraphNode,
    GraphScope,
    ModelGraph,
    TensorForm,
)

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
    # Calls that are one box: of at most one operation, beside views and casts. Not the user's own model.
    callers = {graph_scope.caller for graph_scope in graph.scopes}
    nodes = [node for node in graph.nodes if node.kind in (OPERATION, MODULE)]
    busy = Counter(node.scope for node in nodes if node.kind == MODULE or not is_plumbing(node))
    found = {scope.name for scope in graph.scopes if scope.name not in callers and busy[scope.name] < 2}
    whole = found if not graph.modules or graph.modules[0].of_torch else found - {graph.scopes[0].name}
    flows = flows_of(graph, whole)
    return _Building(graph, whole, flows.folded).root(), flows


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
            name = ".".join(node.name.split("/")[1:])  # input/batch/image -> batch.image; output/0 -> output 0
            name = f"{node.kind} {name}".strip() if not name or name[0].isdigit() else name
            self._root.parts.append(Part(self._key(node.name), node.kind, name, nodes=[place]))
            return
        # From the outermost call below the model itself to the node's; a model of one box is one itself.
        chain: list[GraphScope] = []
        scope = node.scope
        while scope in self._scopes and (scope != self._root.scope or scope in self._whole):
            chain.append(self._scopes[scope])
            scope = chain[-1].caller
        self._enter(chain[::-1])
        above = self._open[-1]
        if node.scope in self._whole:
            above.nodes.append(place)
        else:
            above.parts.append(Part(self._key(node.name), OPERATION, node.op, scope=node.scope, nodes=[place]))

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


# What flows between the operations of a model that are worth a box.
#
# Views, casts and indices become words on the line between two boxes; parameters, buffers and constants become part
# of whoever reads them.
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


class TensorFlow(NamedTuple):
    tensor: Tensor
    target: int
    by: tuple[int, ...]  # nodes folded into the line, in order
    form: TensorForm  # as the target reads it


@dataclass
class Flows:
    lines: list[TensorFlow] = field(default_factory=list)
    folded: set[int] = field(default_factory=set)  # nodes that have no box
    held: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))  # parameters read by a node


class _Origin(NamedTuple):
    tensor: Tensor
    by: tuple[int, ...]


class _TensorSources(NamedTuple):
    """What stands behind one tensor: what was computed, and which parameters."""

    origins: tuple[_Origin, ...]
    held: tuple[str, ...]


def flows_of(graph: ModelGraph, whole: set[str]) -> Flows:
    """`whole` names the calls that are one box each: nothing inside them is folded."""
    found = Flows()
    read: dict[int, list[GraphEdge]] = defaultdict(list)
    for edge in graph.edges:
        read[edge.target].append(edge)
    behind: dict[int, _TensorSources] = {}  # for each folded node
    for place, node in enumerate(graph.nodes):
        if node.kind in _SOURCES:
            found.folded.add(place)
            name = ".".join(node.name.split("/")[1:])  # GPT/wte/weight -> wte.weight
            behind[place] = _TensorSources((), (name,) if node.kind == PARAMETER else ())
            continue
        reached = [
            behind.get(edge.source) or _TensorSources((_Origin(Tensor(edge.source, edge.output), ()),), ())
            for edge in read[place]
        ]
        if node.scope not in whole and _is_folded(node, reached):
            found.folded.add(place)
            through = [_Origin(origin.tensor, (*origin.by, place)) for each in reached for origin in each.origins]
            parameters = tuple(name for each in reached for name in each.held)
            behind[place] = _TensorSources(tuple({origin.tensor: origin for origin in through}.values()), parameters)
            continue
        for edge, each in zip(read[place], reached, strict=True):
            found.lines += [TensorFlow(origin.tensor, place, origin.by, edge.form) for origin in each.origins]
            found.held[place] += [name for name in each.held if name not in found.held[place]]
    return found


def _is_folded(node: GraphNode, reached: list[_TensorSources]) -> bool:
    if node.kind != OPERATION:
        return False
    computed = {origin.tensor for each in reached for origin in each.origins}
    if not computed:
        is_constant = not any(each.held for each in reached) and not node.op.startswith(_DRAWS)
        return is_constant or node.op in _PLUMBING
    return is_plumbing(node) and len(computed) == 1


def is_plumbing(node: GraphNode) -> bool:
    return node.op in _PLUMBING


# The lines inside each part: between its own parts, in from its edge and out to its edge.
MOST_LINES = 4  # of different tensors from one box to another
EDGE = -1  # in the place of a part: the edge of the part they are in


class Strand(NamedTuple):
    """One tensor, or one cable of many, from one place to another."""

    tensor: Tensor  # of a cable the first
    source: int  # place among the parts, or EDGE
    target: int


@dataclass
class Carried:
    """What a strand does to the tensor on its way."""

    tensors: set[Tensor] = field(default_factory=set)
    words: dict[str, None] = field(default_factory=dict)  # view, transpose; in order
    given: dict[TensorForm, None] = field(default_factory=dict)
    taken: dict[TensorForm, None] = field(default_factory=dict)


Strands = dict[Strand, Carried]


class _Step(NamedTuple):
    part: Part
    source: int
    target: int


class Wiring:
    def __init__(self, root: Part, graph: ModelGraph, lines: Sequence[TensorFlow]) -> None:
        self._graph = graph
        # For each node the parts it lies in, from the outermost, and which part of each.
        found: dict[int, list[tuple[Part, int]]] = {}
        waiting: list[tuple[Part, list[tuple[Part, int]]]] = [(root, [])]
        while waiting:
            part, way = waiting.pop()
            found |= dict.fromkeys(part.nodes, way)
            waiting += [(each, [*way, (part, at)]) for at, each in enumerate(part.parts)]
        self._where = found
        self.inside: dict[str, Strands] = defaultdict(dict)  # by key of the part
        self.leaving: dict[str, dict[TensorForm, None]] = defaultdict(dict)  # what a part gives to others
        drawn = [line for line in lines if line.tensor.node in self._where and line.target in self._where]
        ways = [_steps(self._where[line.tensor.node], self._where[line.target]) for line in drawn]
        self._cables = _cables(drawn, ways)
        for line, (steps, common) in zip(drawn, ways, strict=True):
            homes = {place: self._home(place, steps, common) for place in line.by}
            form = self._graph.nodes[line.tensor.node].outputs[line.tensor.output]
            for number, step in enumerate(steps):
                by = [place for place in line.by if homes[place] == number]
                strand = Strand(self._cables[line.tensor], step.source, step.target)
                carried = self.inside[step.part.key].setdefault(strand, Carried())
                carried.tensors.add(line.tensor)
                if step.source != EDGE:
                    self.leaving[step.part.parts[step.source].key][form] = None
                carried.given[form] = None
                if by and (outputs := graph.nodes[by[-1]].outputs):
                    form = outputs[0]
                carried.words |= dict.fromkeys(self._word(place) for place in by)
                carried.taken[form] = None

    def _home(self, place: int, steps: list[_Step], common: int) -> int:
        """The step inside the call that the operation belongs to."""
        scope = self._graph.nodes[place].scope
        fitting = [number for number, step in enumerate(steps) if step.part.scope == scope]
        return common if common in fitting or not fitting else fitting[0]

    def _word(self, place: int) -> str:
        node = self._graph.nodes[place]
        return node.detail if node.op == "getitem" and 0 < len(node.detail) <= 12 else node.op


def _steps(source: list[tuple[Part, int]], target: list[tuple[Part, int]]) -> tuple[list[_Step], int]:
    """Out of the parts around the source, across, and into those around the target; which one is across."""
    depth = 0
    while depth < min(len(source), len(target)) and source[depth] == target[depth]:
        depth += 1
    if depth == min(len(source), len(target)):
        return [], 0  # within one box
    out = [_Step(part, at, EDGE) for part, at in reversed(source[depth + 1 :])]
    into = [_Step(part, EDGE, at) for part, at in target[depth + 1 :]]
    return [*out, _Step(source[depth][0], source[depth][1], target[depth][1]), *into], len(out)


def _cables(lines: Sequence[TensorFlow], ways: Sequence[tuple[list[_Step], int]]) -> dict[Tensor, Tensor]:
    """Many tensors that all go from one part to another are drawn as one line: the first stands for all."""
    across: dict[Tensor, dict[tuple[str, int, int], None]] = defaultdict(dict)
    for line, (steps, common) in zip(lines, ways, strict=True):
        if steps:
            step = steps[common]
            across[line.tensor][step.part.key, step.source, step.target] = None
    alike: dict[tuple[tuple[str, int, int], ...], list[Tensor]] = defaultdict(list)
    for tensor, places in across.items():
        alike[tuple(places)].append(tensor)
    together = {tensor: group[0] for group in alike.values() if len(group) > MOST_LINES for tensor in group}
    return {line.tensor: together.get(line.tensor, line.tensor) for line in lines}
