"""What a model does many times over, folded: the first time stays, the others become one part."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records.model import INPUT, MODULE, OPERATION, OUTPUT, GraphModule, ModelGraph
from torch_debugger.report.model_graph_parts import MODEL, PIECE, REPEAT, Part, TensorFlow, relative_name
from torch_debugger.system.errors import UsageError

_LONGEST_PERIOD = 64  # parts of one turn of a loop
_FEWEST_TURNS = 3
_MANY_TURNS = 10  # folded also in a model that could be drawn whole
_LEAST_SAVED = 6  # boxes


def fold_repeats(root: Part, graph: ModelGraph, lines: Sequence[TensorFlow], too_large: bool) -> None:
    folding = _Folding(graph, lines, _FEWEST_TURNS if too_large else _MANY_TURNS)
    for part in reversed(list(root.all_parts())):  # the innermost first: equal parts are folded alike
        if part.parts:
            part.parts = folding.folded(part)


class _Folding:
    def __init__(self, graph: ModelGraph, lines: Sequence[TensorFlow], fewest: int) -> None:
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
                found.append(_rest(part, parts[at : at + period], parts[at + period : at + period * turns], turns))
            at += period * turns
        return found

    def likeness(self, part: Part) -> int:
        """The same number for parts that do the same with tensors of the same shapes."""
        if id(part) not in self._alike:
            inside = tuple(self.likeness(each) for each in part.parts)
            nodes = [self._graph.nodes[place] for place in part.nodes]
            what = part.kind, part.module, inside, tuple((node.op, node.detail, node.outputs) for node in nodes)
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
        found = {(home.get(source, -1), at) for node, at in home.items() for source in self._readers.get(node, ())}
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
    ends = [part.name if part.call == 1 else f"{part.name} (call {part.call})" for part in (others[0], others[-1])]
    name = " to ".join(dict.fromkeys(ends)) if len(first) == 1 and named else ""
    like = first[0].name if len(first) == 1 else f"{first[0].name} to {first[-1].name}"
    shown = f"{turns - 1:,} more like {like}"
    key = f"{others[0].key}..{others[-1].key}"
    return Part(key, REPEAT, shown, above.path, above.scope, name, parts=others)


# Module lists as parts: the calls of their modules, where nothing else happens in between.
def with_containers(part: Part, classes: Mapping[str, str]) -> None:
    """`classes` has the class of the module at each path."""
    for inside in list(part.all_parts()):
        inside.parts = _grouped(inside, classes)


def _grouped(part: Part, classes: Mapping[str, str]) -> list[Part]:
    lists: list[list[str]] = []  # transformer and transformer.h for transformer.h.0, where these were not called
    for each in part.parts:
        names = each.path.split(".")
        depth = len(part.path.split(".")) if part.path else 0
        is_below = each.kind == MODULE and (not part.path or each.path.startswith(f"{part.path}."))
        lists.append([".".join(names[:end]) for end in range(depth + 1, len(names))] if is_below else [])
    ran = sum(each.kind in (MODULE, OPERATION) for each in part.parts)
    found: list[Part] = []
    at = 0
    while at < len(lists):
        path, end = _run(lists, at)
        if path and end - at < ran:
            parts = part.parts[at:end]
            for each in parts:
                each.name = relative_name(each.path, path)
            key = f"{part.key or part.scope}/{path}[]"
            name = relative_name(path, part.path)
            container = Part(key, MODULE, name, path, part.scope, classes.get(path, ""), parts=parts)
            container.parts = _grouped(container, classes)
            found.append(container)
        else:
            found += part.parts[at:end]
        at = end
    return found


def _run(lists: list[list[str]], at: int) -> tuple[str, int]:
    """The largest list whose calls all follow each other from here, and where they end."""
    for path in lists[at]:
        members = [place for place, each in enumerate(lists) if path in each]
        if members[0] == at and len(members) > 1 and members[-1] - at == len(members) - 1:
            return path, members[-1] + 1
    return "", at + 1


# Parts that hold more than anybody can read, cut into pieces where few lines pass.
MOST_PARTS = 100
_AIM = 40  # parts of a piece
_MOST_ENDS = 12


def cut_into_pieces(root: Part, lines: Sequence[TensorFlow]) -> None:
    for part in list(root.all_parts()):
        while len(part.parts) > MOST_PARTS:
            part.parts = _pieces(part, lines)


def bundle_ends(root: Part) -> None:
    """Many inputs, and many outputs, as one part: the caches of a decoder, the states of all layers."""
    for kind in (INPUT, OUTPUT):
        ends = [part for part in root.parts if part.kind == kind]
        if len(ends) > _MOST_ENDS:
            bundle = Part(f"{kind}s", kind, f"{len(ends)} {kind}s", parts=ends)
            others = [part for part in root.parts if part.kind != kind]
            root.parts = [bundle, *others] if kind == INPUT else [*others, bundle]


def _pieces(part: Part, lines: Sequence[TensorFlow]) -> list[Part]:
    inner = [each for each in part.parts if each.kind not in (INPUT, OUTPUT)]
    # How many lines pass each place between two parts.
    home = {node: at for at, each in enumerate(inner) for one in each.all_parts() for node in one.nodes}
    change: Counter[int] = Counter()
    for line in lines:
        source, target = home.get(line.tensor.node), home.get(line.target)
        if source is not None and target is not None and source < target:
            change[source + 1] += 1
            change[target + 1] -= 1
    passing = [0]
    for place in range(1, len(inner)):
        passing.append(passing[-1] + change[place])
    found: list[Part] = []
    at = 0
    while at < len(inner):
        end = _cut(passing, at, len(inner))
        parts = inner[at:end]
        key = f"{parts[0].key}..{parts[-1].key}|"
        name = f"{parts[0].name} to {parts[-1].name}"
        found.append(Part(key, PIECE, name, part.path, part.scope, parts=parts))
        at = end
    before, after = ([each for each in part.parts if each.kind == kind] for kind in (INPUT, OUTPUT))
    return [*before, *found, *after]


def _cut(passing: list[int], at: int, count: int) -> int:
    """Where fewest lines pass, not far from the aim."""
    if count - at <= _AIM * 5 // 4:
        return count
    near = range(at + _AIM * 3 // 4, at + _AIM * 5 // 4 + 1)
    return min(near, key=lambda place: (passing[place], abs(place - at - _AIM)))


# Which parts of a model are open: as many as can be read, equal ones alike, or those asked for.
MOST_BOXES = 150


class Openings:
    def __init__(self, root: Part, modules: Iterable[GraphModule]) -> None:
        self._root = root
        self._of_torch = {module.path for module in modules if module.of_torch}
        self._paths = [module.path for module in modules if module.path]

    def automatic(self, depth: int | None = None, most: int = MOST_BOXES) -> set[str]:
        """Level by level, down to `depth`, as long as no more boxes than that are seen."""
        opened: set[str] = set()
        visible = len(self._root.parts)
        level = [part for part in self._root.parts if part.parts]
        reached = 1
        while level and (depth is None or reached < depth):
            level.sort(key=lambda part: (_cost(part), part.module, part.name))
            taken: list[Part] = []
            for _, alike in groupby(level, key=lambda part: (part.module, len(part.parts))):
                # One of torch's own that calls no other, an LSTM, says more by its name.
                group = [
                    part for part in alike
                    if part.kind == MODULE
                    and (part.path not in self._of_torch or any(inner.kind != OPERATION for inner in part.parts))
                ]  # fmt: skip
                more = sum(_cost(part) for part in group)
                if visible + more <= most:
                    visible += more
                    taken += group
            opened |= {part.key for part in taken}
            level = [inner for part in taken for inner in part.parts if inner.parts]
            reached += 1
        return opened

    def with_paths(self, opened: set[str], paths: Collection[str]) -> set[str]:
        """Also these modules, and whatever they lie in."""
        ways = [self._way_to(path) for path in ([paths] if isinstance(paths, str) else paths)]
        return set(opened).union(*ways)

    def _way_to(self, path: str) -> set[str]:
        found: set[str] = set()
        waiting: list[tuple[Part, tuple[str, ...]]] = [(self._root, ())]
        while waiting:
            part, way = waiting.pop()
            if path in (part.path, part.key) and part.kind != MODEL:
                found |= {*way, part.key}
            waiting += [(inner, (*way, part.key)) for inner in part.parts if inner.parts or path == inner.path]
        if not found and path:
            if path in self._paths:
                raise UsageError(f"module `{path}` was not called in this run, so it has no place in the drawing.")
            near = difflib.get_close_matches(path, self._paths, n=3, cutoff=0.4) or self._paths[:3]
            hint = f" There is {', '.join(f'`{each}`' for each in near)}." if near else ""
            raise UsageError(f"no module `{path}` in this model.{hint}")
        return found


def _cost(part: Part) -> int:
    return len(part.parts) - 1
