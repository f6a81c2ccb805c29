"""What a model does many times over, folded: the first time stays, the others become one part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from torch_debugger.diagrams.flows import Flow
from torch_debugger.diagrams.parts import REPEAT, Part
from torch_debugger.records.op_graph import MODULE, OPERATION, ModelGraph

_LONGEST_PERIOD = 64  # parts of one turn of a loop
_FEWEST_TURNS = 3
_MANY_TURNS = 10  # folded also in a model that could be drawn whole
_LEAST_SAVED = 6  # boxes


def fold_repeats(root: Part, graph: ModelGraph, lines: Sequence[Flow], too_large: bool) -> None:
    folding = _Folding(graph, lines, _FEWEST_TURNS if too_large else _MANY_TURNS)
    for part in reversed(list(root.all_parts())):  # the innermost first: equal parts are folded alike
        if part.parts:
            part.parts = folding.folded(part)


class _Folding:
    def __init__(self, graph: ModelGraph, lines: Sequence[Flow], fewest: int) -> None:
        self._graph = graph
        self._fewest = fewest
        self._numbers: dict[object, int] = {}
        self._alike: dict[int, int] = {}  # by id of a part
        self._readers: dict[int, list[int]] = {}
        for line in lines:
            self._readers.setdefault(line.target, []).append(line.tensor.node)

    def folded(self, part: Part) -> list[Part]:
        parts = part.parts
        looks = np.array([self.likeness(each) for each in parts])
        found: list[Part] = []
        at = 0
        ways = _periods(looks)
        while at < len(parts):
            period, turns = self._best(ways, parts, at)
            found += parts[at : at + period]
            if turns > 1:
                found.append(
                    _rest(part, parts[at : at + period], parts[at + period : at + period * turns], turns)
                )
            at += period * turns
        return found

    def likeness(self, part: Part) -> int:
        """The same number for parts that do the same with tensors of the same shapes."""
        if id(part) not in self._alike:
            inside = tuple(self.likeness(each) for each in part.parts)
            told = [self._graph.nodes[place] for place in part.nodes]
            what = part.kind, part.module, inside, tuple((node.op, node.detail, node.outputs) for node in told)
            self._alike[id(part)] = self._numbers.setdefault(what, len(self._numbers))
        return self._alike[id(part)]

    def _best(self, ways: dict[int, NDArray[np.int64]], parts: list[Part], at: int) -> tuple[int, int]:
        """How long the turns from here are, and how many; one of one where nothing is repeated."""
        best = 1, 1
        for period, equal in ways.items():
            turns = 1 + int(equal[at]) // period if at < len(equal) else 1
            if turns * period <= best[0] * best[1] or turns < self._fewest:
                continue
            turns = self._alike_inside(parts, at, period, turns)
            saved = (turns - 1) * sum(part.boxes for part in parts[at : at + period])
            if turns >= self._fewest and saved >= _LEAST_SAVED and turns * period > best[0] * best[1]:
                best = period, turns
        return best

    def _alike_inside(self, parts: list[Part], at: int, period: int, turns: int) -> int:
        """How many of the turns also read each other's results alike."""
        if any(part.kind not in (MODULE, OPERATION, REPEAT) for part in parts[at : at + period]):
            return 1
        first = self._wiring(parts[at : at + period])
        for turn in range(1, turns):
            begin = at + turn * period
            if self._wiring(parts[begin : begin + period]) != first:
                return turn
        return turns

    def _wiring(self, parts: list[Part]) -> list[tuple[int, int]]:
        """Which of these parts reads from which."""
        home = {node: at for at, part in enumerate(parts) for each in part.all_parts() for node in each.nodes}
        found = {
            (home.get(source, -1), at) for node, at in home.items() for source in self._readers.get(node, ())
        }
        return sorted(pair for pair in found if pair[0] >= 0)


def _periods(looks: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """For each period, and each place, how many parts from there on look like those one period later."""
    found = {}
    for period in range(1, min(_LONGEST_PERIOD, len(looks) // _FEWEST_TURNS) + 1):
        equal = looks[:-period] == looks[period:]
        if not equal.any():
            continue
        ends = np.where(equal, len(equal), np.arange(len(equal)))
        found[period] = np.minimum.accumulate(ends[::-1])[::-1] - np.arange(len(equal))
    return found


def _rest(above: Part, first: list[Part], others: list[Part], turns: int) -> Part:
    named = [part for part in first if part.kind == MODULE]
    name = " to ".join(dict.fromkeys(_ends(others))) if len(first) == 1 and named else ""
    like = first[0].name if len(first) == 1 else f"{first[0].name} to {first[-1].name}"
    shown = f"{turns - 1:,} more like {like}"
    key = f"{others[0].key}..{others[-1].key}"
    return Part(key, REPEAT, shown, above.path, above.scope, name, parts=others)


def _ends(parts: list[Part]) -> Iterator[str]:
    for part in (parts[0], parts[-1]):
        yield part.name if part.call == 1 else f"{part.name} (call {part.call})"
