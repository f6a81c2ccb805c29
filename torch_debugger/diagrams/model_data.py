"""A model's drawing as plain data for a page: each part's inside laid out once, whatever else is open.

A page opens a part by putting its inside in the place of its box, and moves the rest aside.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Any

from torch_debugger.diagrams.captions import form_text
from torch_debugger.diagrams.insides import Inside
from torch_debugger.diagrams.model_parts import ModelParts
from torch_debugger.diagrams.parts import Part
from torch_debugger.diagrams.scene import HEAD, PAD, TIP, Opened, head_width
from torch_debugger.records.op_graph import INPUT, OPERATION, OUTPUT

FORMAT = 1
MOST_PLACES = 4000  # boxes in all insides together: a page must load


def model_data(model: ModelParts, heading: list[str], opened: Collection[str]) -> dict[str, Any]:
    """`opened` is what a page shows open at first."""
    groups = groups_of(model, opened)
    return {
        "format": FORMAT,
        "heading": heading,
        "note": model.graph.note,
        "pad": PAD,
        "head": HEAD,
        "tip": TIP,
        "opened": [key for key in groups if key in opened],
        "modules": _modules(model),
        "nodes": _nodes(model),
        "edges": _edges(model),
        "groups": groups,
    }


def groups_of(model: ModelParts, opened: Collection[str]) -> dict[str, Any]:
    """By key, the model itself first, under an empty one; those far down a very large model are left out."""
    found: dict[str, Any] = {}
    kept = _kept(model.root)
    waiting = deque([model.opened(model.root, opened)])
    while waiting:
        here = waiting.popleft()
        found[here.part.key] = _group(model, here, kept)
        for part, member in zip(here.part.parts, here.members, strict=True):
            if part.key in kept:
                waiting.append(member if isinstance(member, Opened) else model.opened(part, ()))
    return found


def _kept(root: Part) -> set[str]:
    found: set[str] = set()
    places = 0
    waiting = deque([root])
    while waiting and places < MOST_PLACES:
        part = waiting.popleft()
        found.add(part.key)
        places += len(part.parts)
        waiting += [each for each in part.parts if each.parts]
    return found


def _group(model: ModelParts, here: Opened, kept: set[str]) -> dict[str, Any]:
    closed = model.opened(here.part, ())
    opened = [
        part.key
        for part, member in zip(here.part.parts, here.members, strict=True)
        if isinstance(member, Opened)
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


def inside_data(inside: Inside) -> dict[str, Any]:
    return {
        "width": round(inside.width, 1),
        "height": round(inside.height, 1),
        "anchor": round(inside.anchor, 1),
        "rows": [[round(top, 1), round(bottom, 1)] for top, bottom in inside.rows],
        "places": [
            [
                *(round(value, 1) for value in (each.left, each.top, each.width, each.height, each.anchor)),
                each.row,
            ]
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


def _modules(model: ModelParts) -> list[dict[str, Any]]:
    ran = any(node.kind in (INPUT, OPERATION, OUTPUT) for node in model.graph.nodes)
    calls = Counter(scope.path for scope in model.graph.scopes if ran)
    return [
        {
            "path": module.path,
            "class": module.module,
            "parameters": module.parameters,
            "calls": calls[module.path],
            "detail": module.detail,
        }
        for module in model.graph.modules
    ]


def _nodes(model: ModelParts) -> list[dict[str, Any]]:
    return [
        {"key": part.key, "kind": part.kind, "name": part.name, "path": part.path, "class": part.module}
        for part in model.root.all_parts()
        if not part.parts and part is not model.root
    ][:MOST_PLACES]


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
