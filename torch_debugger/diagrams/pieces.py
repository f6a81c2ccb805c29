"""Parts that hold more than anybody can read, cut into pieces where few lines pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch_debugger.diagrams.flows import Flow
from torch_debugger.diagrams.parts import PIECE, Part
from torch_debugger.records.op_graph import INPUT, OUTPUT

MOST_PARTS = 100
_AIM = 40  # parts of a piece
_MOST_ENDS = 12


def cut_into_pieces(root: Part, lines: Sequence[Flow]) -> None:
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


def _pieces(part: Part, lines: Sequence[Flow]) -> list[Part]:
    inner = [each for each in part.parts if each.kind not in (INPUT, OUTPUT)]
    passing = _passing(inner, lines)
    found: list[Part] = []
    at = 0
    while at < len(inner):
        end = _cut(passing, at, len(inner))
        found.append(_piece(part, inner[at:end]))
        at = end
    before, after = ([each for each in part.parts if each.kind == kind] for kind in (INPUT, OUTPUT))
    return [*before, *found, *after]


def _passing(parts: list[Part], lines: Sequence[Flow]) -> list[int]:
    """How many lines pass each place between two parts."""
    home = {node: at for at, part in enumerate(parts) for each in part.all_parts() for node in each.nodes}
    change: Counter[int] = Counter()
    for line in lines:
        source, target = home.get(line.tensor.node), home.get(line.target)
        if source is not None and target is not None and source < target:
            change[source + 1] += 1
            change[target + 1] -= 1
    found = [0]
    for at in range(1, len(parts)):
        found.append(found[-1] + change[at])
    return found


def _cut(passing: list[int], at: int, count: int) -> int:
    """Where fewest lines pass, not far from the aim."""
    if count - at <= _AIM * 5 // 4:
        return count
    near = range(at + _AIM * 3 // 4, at + _AIM * 5 // 4 + 1)
    return min(near, key=lambda place: (passing[place], abs(place - at - _AIM)))


def _piece(above: Part, parts: list[Part]) -> Part:
    key = f"{parts[0].key}..{parts[-1].key}|"
    name = f"{parts[0].name} to {parts[-1].name}"
    return Part(key, PIECE, name, above.path, above.scope, parts=parts)
