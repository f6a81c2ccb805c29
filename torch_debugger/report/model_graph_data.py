"""A model's drawing as plain data for a page: each part's inside laid out once, whatever else is open.

A page opens a part by putting its inside in the place of its box, and moves the rest aside.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection
from typing import Any

from torch_debugger.records.model import INPUT, OPERATION, OUTPUT, ModelGraph
from torch_debugger.report.graph_layout import box_size
from torch_debugger.report.model_graph_boxes import (
    HEAD,
    PAD,
    TIP,
    BoxContents,
    Caption,
    Captions,
    GraphDrawing,
    Member,
    Opened,
    drawing_of,
    form_text,
    head_width,
    inside_of,
)
from torch_debugger.report.model_graph_folding import (
    MOST_BOXES,
    Openings,
    bundle_ends,
    cut_into_pieces,
    fold_repeats,
    with_containers,
)
from torch_debugger.report.model_graph_parts import Part, Wiring, parts_of

FORMAT = 1
MOST_PLACES = 4000  # boxes in all insides together: a page must load


def model_data(model: ModelParts, heading: list[str], opened: Collection[str]) -> dict[str, Any]:
    """`opened` is what a page shows open at first."""
    ran = any(node.kind in (INPUT, OPERATION, OUTPUT) for node in model.graph.nodes)
    calls = Counter(scope.path for scope in model.graph.scopes if ran)
    modules = [
        {
            "path": module.path,
            "class": module.module,
            "parameters": module.parameters,
            "calls": calls[module.path],
            "detail": module.detail,
        }
        for module in model.graph.modules
    ]
    nodes = [
        {"key": part.key, "kind": part.kind, "name": part.name, "path": part.path, "class": part.module}
        for part in model.root.all_parts()
        if not part.parts and part is not model.root
    ]
    groups = groups_of(model, opened)
    return {
        "format": FORMAT,
        "heading": heading,
        "note": model.graph.note,
        "pad": PAD,
        "head": HEAD,
        "tip": TIP,
        "opened": [key for key in groups if key in opened],
        "modules": modules,
        "nodes": nodes[:MOST_PLACES],
        "edges": _edges(model),
        "groups": groups,
    }


def groups_of(model: ModelParts, opened: Collection[str]) -> dict[str, Any]:
    """By key, the model itself first, under an empty one; those far down a very large model are left out."""
    kept: set[str] = set()
    places, parts = 0, deque([model.root])
    while parts and places < MOST_PLACES:
        part = parts.popleft()
        kept.add(part.key)
        places += len(part.parts)
        parts += [each for each in part.parts if each.parts]
    found: dict[str, Any] = {}
    waiting = deque([model.opened(model.root, opened)])
    while waiting:
        here = waiting.popleft()
        found[here.part.key] = _group(model, here, kept)
        for part, member in zip(here.part.parts, here.members, strict=True):
            if part.key in kept:
                waiting.append(member if isinstance(member, Opened) else model.opened(part, ()))
    return found


def _group(model: ModelParts, here: Opened, kept: set[str]) -> dict[str, Any]:
    closed = model.opened(here.part, ())
    opened = [
        part.key for part, member in zip(here.part.parts, here.members, strict=True) if isinstance(member, Opened)
    ]
    group = {
        "title": round(head_width(here.caption), 1),
        "parts": [_part(model, part, part.key in kept) for part in here.part.parts],
        "closed": inside_data(closed.inside),
    }
    return group | ({"opened": opened, "open": inside_data(here.inside)} if opened else {})


def _part(model: ModelParts, part: Part, opens: bool) -> dict[str, Any]:
    caption = model.caption(part)
    return {
        "key": part.key,
        "kind": part.kind,
        "path": part.path,
        "name": caption.name,
        "beside": caption.beside,
        "below": caption.below,
        "full": caption.full,
        "opens": opens and bool(part.parts),
        "stacked": bool(part.parts),
    }


def inside_data(inside: BoxContents) -> dict[str, Any]:
    return {
        "width": round(inside.width, 1),
        "height": round(inside.height, 1),
        "anchor": round(inside.anchor, 1),
        "rows": [[round(top, 1), round(bottom, 1)] for top, bottom in inside.rows],
        "places": [
            [*(round(value, 1) for value in (each.left, each.top, each.width, each.height, each.anchor)), each.row]
            for each in inside.places
        ],
        "words": inside.words,
        "entries": inside.entries,
        "exits": inside.exits,
        "wires": [
            {
                "from": wire.source,
                "to": wire.target,
                "tensor": wire.tensor,
                "leaves": round(wire.leaves, 1),
                "reaches": round(wire.reaches, 1),
                "bends": [[round(x, 1), row] for x, row in wire.bends],
                "told": wire.told,
            }
            for wire in inside.wires
        ],
    }


def _edges(model: ModelParts) -> list[dict[str, Any]]:
    home = {node: part.key for part in model.root.all_parts() for node in part.nodes}
    return [
        {
            "from": home[line.tensor.node],
            "to": home[line.target],
            "by": [model.graph.nodes[place].op for place in line.by],
            "shape": form_text(line.form),
            "dtype": line.form.dtype,
        }
        for line in model.lines[:MOST_PLACES]
        if line.tensor.node in home and line.target in home and home[line.tensor.node] != home[line.target]
    ]


# A recorded model, ready to be drawn: parts, captions, and the inside of each part when it is needed.


class ModelParts:
    """`more` tells what else a box says below its name; `folds` folds repeats also in a small model."""

    def __init__(self, graph: ModelGraph, more: Callable[[Part], str] = lambda part: "", folds: bool = False) -> None:
        self.graph = graph
        self.root, flows = parts_of(graph)
        self.lines = flows.lines
        with_containers(self.root, {module.path: module.module for module in graph.modules})
        bundle_ends(self.root)
        self.openings = Openings(self.root, graph.modules)
        fold_repeats(self.root, graph, flows.lines, too_large=folds or self.root.boxes > MOST_BOXES)
        cut_into_pieces(self.root, flows.lines)
        self._wiring = Wiring(self.root, graph, flows.lines)
        self._captions = Captions(graph, flows.held, more)

    def caption(self, part: Part) -> Caption:
        return self._captions.of(part, self._wiring.leaving[part.key])

    def opened(self, part: Part, keys: Collection[str]) -> Opened:
        """The part with its inside, and so on for those of its parts whose keys are given."""
        inner = [
            self.opened(each, keys) if each.parts and each.key in keys else self.caption(each) for each in part.parts
        ]
        members = []
        for each, shown in zip(part.parts, inner, strict=True):
            several = len({form_text(form) for form in self._wiring.leaving[each.key]}) > 1
            size = shown.size if isinstance(shown, Opened) else box_size(*shown.size())
            members.append(Member(size, several, shown.inside if isinstance(shown, Opened) else None))
        inside = inside_of(part, self._wiring.inside[part.key], members)
        return Opened(part, inside, self.caption(part), inner)

    def scene(self, keys: Collection[str]) -> GraphDrawing:
        return drawing_of(self.opened(self.root, keys))
