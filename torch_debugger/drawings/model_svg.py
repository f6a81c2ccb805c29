"""A model's drawing as SVG; no browser, font or program of others is needed to make it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from torch_debugger.diagrams.captions import LINE, Caption
from torch_debugger.diagrams.lettering import escaped, text_width
from torch_debugger.diagrams.scene import HEAD, Box, Line, Scene, Words
from torch_debugger.records.op_graph import INPUT, OPERATION, OUTPUT

MARGIN = 18.0
TINT = 0.045  # each frame is a little darker than the one around it
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
STYLE = f"""
.td-graph text {{ font: 12px {FONT}; fill: #1d2733 }}
.td-graph .title {{ font-size: 14px; font-weight: 600 }} .td-graph .quiet {{ fill: #5c6b7a }}
.td-graph .name {{ font-weight: 600 }} .td-graph .small, .td-graph .words {{ font-size: 12px; fill: #5c6b7a }}
.td-graph .words {{ paint-order: stroke; stroke: #f4f8fe; stroke-width: 5px; stroke-linejoin: round }}
.td-graph .page {{ fill: #ffffff }}
.td-graph .box rect {{ fill: #f6f8fa; stroke: #8c9aa8 }}
.td-graph .module rect {{ fill: #e8f1fd; stroke: #6d9fdc }}
.td-graph .input rect {{ fill: #e6f6f2; stroke: #2a9d8f }}
.td-graph .output rect {{ fill: #fdf3e1; stroke: #d9912a }}
.td-graph .repeat rect, .td-graph .piece rect {{ fill: #f3eefb; stroke: #9c83c6; stroke-dasharray: 5 3 }}
.td-graph .box .behind {{ fill: #ffffff }}
.td-graph .frame rect {{ fill: #1f6feb; fill-opacity: {TINT}; stroke: #9fb8d6; stroke-dasharray: none }}
.td-graph .line {{ fill: none; stroke: #7c8a98; stroke-width: 1.3 }}
"""
TIP_MARKER = (
    '<defs><marker id="td-tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0.6 L8 4 L0 7.4 z" fill="#7c8a98"/></marker></defs>'
)
_ROUND = {INPUT: 14, OUTPUT: 14, OPERATION: 10}


def model_svg(scene: Scene, heading: Sequence[str]) -> str:
    width = max(scene.width, 420.0)
    wrapped = [part for line in heading for part in textwrap.wrap(line, int(width / 7.5))]
    width = max([width, *(text_width(line, 14, bold=not at) for at, line in enumerate(wrapped))]) + 2 * MARGIN
    top = MARGIN + LINE * len(wrapped)
    height = top + scene.height + MARGIN - HEAD + 12
    left = (width - scene.width) / 2
    words = [
        _text(MARGIN, MARGIN + LINE * (at + 0.75), line, "quiet" if at else "title")
        for at, line in enumerate(wrapped)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="td-graph" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{STYLE}</style>{TIP_MARKER}'
        f'<rect class="page" width="100%" height="100%"/>{"".join(words)}'
        f'<g transform="translate({left:.1f} {top - HEAD + 12:.1f})">{scene_svg(scene)}</g></svg>'
    )


def scene_svg(scene: Scene) -> str:
    return "".join(
        [
            *(_frame(box) for box in scene.frames),
            *(_line(line) for line in scene.lines),
            *(_head(box) for box in scene.frames),
            *(_words(words) for words in scene.words),
            *(_box(box) for box in scene.boxes),
        ]
    )


def _frame(box: Box) -> str:
    return f'<g class="frame {box.part.kind}">{_rect(box, 8)}</g>'


def _head(box: Box) -> str:
    """Above the lines that come in."""
    return (
        f'<g class="head">{_title(box.caption)}{_first_line(box, box.caption, box.x + 12, 17, inline=True)}</g>'
    )


def _box(box: Box) -> str:
    kind, caption = box.part.kind, box.caption
    behind = _rect(box, 6, shift=4, name="behind") if box.part.parts else ""
    middle = box.y + box.height / 2
    first = middle + 4.5 if not caption.below else middle - 3
    lines = _first_line(box, caption, box.x + box.width / 2, first - box.y, inline=False)
    below = ""
    if caption.below:
        below = _text(box.x + box.width / 2, middle + 12, caption.below, "small", anchor="middle")
    return f'<g class="box {kind}">{_title(caption)}{behind}{_rect(box, _ROUND.get(kind, 6))}{lines}{below}</g>'


def _first_line(box: Box, caption: Caption, x: float, y: float, inline: bool) -> str:
    beside = " ".join(filter(None, [caption.beside, caption.below if inline else ""]))
    quiet = f'<tspan class="quiet" style="font-weight:400" dx="6">{escaped(beside)}</tspan>' if beside else ""
    anchor = "" if inline else ' text-anchor="middle"'
    halo = " words" if inline else ""
    size = f' style="font-size:12px;stroke:{_tint(box.depth + 1)}"' if inline else ""
    begin = f'<text class="name{halo}"{size} x="{x:.1f}" y="{box.y + y:.1f}"{anchor}>'
    return f"{begin}{escaped(caption.name)}{quiet}</text>"


def _tint(depth: int) -> str:
    """Of the paper inside so many frames."""
    return "#" + "".join(
        f"{round(255 - (255 - part) * (1 - (1 - TINT) ** depth)):02x}" for part in (0x1F, 0x6F, 0xEB)
    )


def _title(caption: Caption) -> str:
    return f"<title>{escaped_lines(caption.full)}</title>" if caption.full else ""


def escaped_lines(text: str) -> str:
    return "\n".join(escaped(line) for line in text.splitlines())


def _rect(box: Box, radius: float, shift: float = 0.0, name: str = "") -> str:
    made = f' class="{name}"' if name else ""
    return (
        f'<rect{made} x="{box.x + shift:.1f}" y="{box.y + shift:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius}"/>'
    )


def _words(words: Words) -> str:
    return _text(words.x, words.y + 3.5, words.text, "words", anchor="middle")


def _line(line: Line) -> str:
    told = f"<title>{escaped(line.told)}</title>" if line.told else ""
    tip = ' marker-end="url(#td-tip)"' if line.arrow else ""
    return f'<path class="line" d="{path_of(line)}"{tip}>{told}</path>'


def path_of(line: Line) -> str:
    x, upper, lower = line.points[0]
    path = f"M{x:.1f} {upper:.1f}V{lower:.1f}"
    for x2, upper2, lower2 in line.turns():
        middle = (lower + upper2) / 2
        if abs(x2 - x) > 0.05:
            path += f"C{x:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {upper2:.1f}"
        path += f"V{lower2:.1f}"
        x, lower = x2, lower2
    return path


def _text(x: float, y: float, text: str, name: str, anchor: str = "") -> str:
    at = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}"{at}>{escaped(text)}</text>'
