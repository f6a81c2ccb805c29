"""A laid-out graph as SVG; no browser, font or program of others is needed to make it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from torch_debugger.diagrams.layered import Layout, Link, Spot, box_size, lay_out
from torch_debugger.diagrams.lettering import escaped
from torch_debugger.inspections.graph_boxes import Box

_LETTER, _LINE, _PAD = 7.3, 17.0, 9.0  # a 12 px letter of a monospaced font, a line of text, inside a box
_MARGIN = 18.0
_NARROWEST = 70  # letters of a line above the drawing
_STYLE = """
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2328 }
.title { font-weight: 600 } .leaf { fill: #0a58b8 } .quiet { fill: #6e5a1e }
rect { fill: #f6f8fa; stroke: #8c959f } .loss rect { fill: #e7f5ea; stroke: #2f8f46 }
.constant rect { fill: #fffaf0; stroke: #b08800; stroke-dasharray: 4 3 } .constant text { fill: #6e5a1e }
.page { fill: #ffffff; stroke: none }
.edge { fill: none; stroke: #8c959f } .constant-edge { stroke-dasharray: 4 3 }
"""


def graph_svg(boxes: Sequence[Box], heading: Sequence[str]) -> str:
    """The heading stands above the drawing, a line each."""
    links = links_of(boxes)
    layout = lay_out([box_size(*_size(box)) for box in boxes], links)
    letters = max(_NARROWEST, int(layout.width / _LETTER))
    heading = [part for line in heading for part in textwrap.wrap(line, letters)]
    top = _MARGIN + _LINE * len(heading) + _PAD
    width = max(layout.width, max(len(line) for line in heading) * _LETTER) + 2 * _MARGIN
    height = top + layout.height + _MARGIN
    left = (width - layout.width) / 2
    words = [
        _text(_MARGIN, _MARGIN + _LINE * (line + 0.7), text, "title" if not line else "quiet")
        for line, text in enumerate(heading)
    ]
    parts = [*words, f'<g transform="translate({left:.1f} {top:.1f})">', *_drawn(boxes, links, layout), "</g>"]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{_STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#8c959f"/></marker></defs>'
        f'<rect class="page" width="100%" height="100%"/>{"".join(parts)}</svg>'
    )


def links_of(boxes: Sequence[Box]) -> list[Link]:
    return [Link(operand, user, operand) for user, box in enumerate(boxes) for operand in box.operands]


def _drawn(boxes: Sequence[Box], links: Sequence[Link], layout: Layout) -> list[str]:
    ways = [[layout.spots[index] for index in way] for way in layout.ways]
    edges = [_edge(way, boxes[link.upper].kind) for link, way in zip(links, ways, strict=True)]
    return [*edges, *(_drawn_box(box, layout.spots[index]) for index, box in enumerate(boxes))]


def _size(box: Box) -> tuple[float, float]:
    longest = max(len(text) for text in (box.title, *box.leaves))
    return longest * _LETTER + 2 * _PAD, _LINE * (1 + len(box.leaves)) + _PAD


def _drawn_box(box: Box, spot: Spot) -> str:
    left = spot.x - spot.width / 2
    frame = (
        f'<rect x="{left:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="5"/>'
    )
    texts = [
        _text(left + _PAD, spot.y + _LINE * (line + 0.7) + _PAD / 2, text, "leaf" if line else "title")
        for line, text in enumerate((box.title, *box.leaves))
    ]
    return f'<g class="{box.kind}">{frame}{"".join(texts)}</g>'


def _edge(way: list[Spot], kind: str) -> str:
    """Down from box to box, and straight past the boxes on the way."""
    x, y = way[0].x, way[0].y + way[0].height
    path = f"M{x:.1f} {y:.1f}"
    for spot in way[1:]:
        middle = (y + spot.y) / 2
        path += f" C{x:.1f} {middle:.1f} {spot.x:.1f} {middle:.1f} {spot.x:.1f} {spot.y:.1f}"
        x, y = spot.x, spot.y
        if spot is not way[-1]:
            y += spot.height
            path += f" V{y:.1f}"
    name = "edge constant-edge" if kind == "constant" else "edge"
    return f'<path class="{name}" d="{path}" marker-end="url(#tip)"/>'


def _text(x: float, y: float, text: str, name: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}">{escaped(text)}</text>'
