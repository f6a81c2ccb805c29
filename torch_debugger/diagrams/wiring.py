"""The lines inside each part: between its own parts, in from its edge and out to its edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.diagrams.flows import Flow, Tensor
from torch_debugger.diagrams.parts import Part
from torch_debugger.records.op_graph import ModelGraph, TensorForm

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
    def __init__(self, root: Part, graph: ModelGraph, lines: Sequence[Flow]) -> None:
        self._graph = graph
        self._where = _places(root)
        self.inside: dict[str, Strands] = defaultdict(dict)  # by key of the part
        self.leaving: dict[str, dict[TensorForm, None]] = defaultdict(dict)  # what a part gives to others
        drawn = [line for line in lines if line.tensor.node in self._where and line.target in self._where]
        ways = [_steps(self._where[line.tensor.node], self._where[line.target]) for line in drawn]
        self._cables = _cables(drawn, ways)
        for line, (steps, common) in zip(drawn, ways, strict=True):
            self._lay(line, steps, common)

    def _lay(self, line: Flow, steps: list[_Step], common: int) -> None:
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
            form = self._after(by, form)
            carried.words |= dict.fromkeys(self._word(place) for place in by)
            carried.taken[form] = None

    def _home(self, place: int, steps: list[_Step], common: int) -> int:
        """The step inside the call that the operation belongs to."""
        scope = self._graph.nodes[place].scope
        fitting = [number for number, step in enumerate(steps) if step.part.scope == scope]
        return common if common in fitting or not fitting else fitting[0]

    def _after(self, by: list[int], form: TensorForm) -> TensorForm:
        outputs = self._graph.nodes[by[-1]].outputs if by else ()
        return outputs[0] if outputs else form

    def _word(self, place: int) -> str:
        node = self._graph.nodes[place]
        return node.detail if node.op == "getitem" and 0 < len(node.detail) <= 12 else node.op


def _places(root: Part) -> dict[int, list[tuple[Part, int]]]:
    """For each node the parts it lies in, from the outermost, and which part of each."""
    found: dict[int, list[tuple[Part, int]]] = {}
    waiting: list[tuple[Part, list[tuple[Part, int]]]] = [(root, [])]
    while waiting:
        part, way = waiting.pop()
        found |= dict.fromkeys(part.nodes, way)
        waiting += [(each, [*way, (part, at)]) for at, each in enumerate(part.parts)]
    return found


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


def _cables(lines: Sequence[Flow], ways: Sequence[tuple[list[_Step], int]]) -> dict[Tensor, Tensor]:
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
