"""A model's drawing as a figure of matplotlib, for PNG and for logs that take images."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.textpath import text_to_path

from torch_debugger.pictures.figures import INK, new_figure
from torch_debugger.records.model import INPUT, MODULE, OUTPUT
from torch_debugger.report.graph_layout import text_width
from torch_debugger.report.model_graph_boxes import HEAD, TIP, Caption, Connector, GraphBox, GraphDrawing
from torch_debugger.report.model_graph_parts import PIECE, REPEAT

_PER_INCH = 100.0  # of our units, which are pixels in a browser
_MOST_INCHES = 250.0  # what the renderer takes
_MARGIN, _LINE = 18.0, 18.0
_QUIET, _EDGE = "#5c6b7a", "#7c8a98"
_COLOURS = {  # inside, around
    MODULE: ("#e8f1fd", "#6d9fdc"),
    INPUT: ("#e6f6f2", "#2a9d8f"),
    OUTPUT: ("#fdf3e1", "#d9912a"),
    REPEAT: ("#f3eefb", "#9c83c6"),
    PIECE: ("#f3eefb", "#9c83c6"),
}
_PLAIN = ("#f6f8fa", "#8c9aa8")


def model_figure(drawing: GraphDrawing, heading: Sequence[str]) -> Figure:
    wide = max([drawing.width, *(text_width(line, 14) for line in heading)]) + 2 * _MARGIN
    top = _MARGIN + _LINE * len(heading)
    high = top + drawing.height + _MARGIN
    scale = min(1.0, _MOST_INCHES * _PER_INCH / max(wide, high))
    figure = new_figure(wide / _PER_INCH * scale, high / _PER_INCH * scale)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    left = (wide - drawing.width) / 2
    axes.set_xlim(-left, wide - left)
    axes.set_ylim(high - top, -top)
    _GraphDrawing(axes, scale).draw(drawing, heading, _MARGIN - left, _MARGIN - top)
    return figure


class _GraphDrawing:
    def __init__(self, axes: Axes, scale: float) -> None:
        self._axes = axes
        self._points = 72 / _PER_INCH * scale  # of one of our units

    def draw(self, drawing: GraphDrawing, heading: Sequence[str], x: float, y: float) -> None:
        for at, title in enumerate(heading):
            size, weight = (14, "bold") if not at else (12, "normal")
            self._text(x, y + _LINE * (at + 0.5), title, size, INK, weight, "left")
        for frame in drawing.frames:
            self._rectangle(frame, "#1f6feb0c", "#9fb8d6", 8)
        for line in drawing.lines:
            self._line(line)
        for frame in drawing.frames:
            self._name(frame.caption, frame.x + 12, frame.y + HEAD / 2, in_head=True)
        for words in drawing.words:
            self._text(words.x, words.y, words.text, 12, _QUIET, halo=True)
        for box in drawing.boxes:
            self._box(box)

    def _box(self, box: GraphBox) -> None:
        inside, around = _COLOURS.get(box.part.kind, _PLAIN)
        if box.part.parts:
            self._rectangle(box._replace(x=box.x + 4, y=box.y + 4), "white", around, 6)
        self._rectangle(box, inside, around, 6)
        x, y = box.x + box.width / 2, box.y + box.height / 2
        self._name(box.caption, x, y - 7 if box.caption.below else y)
        if box.caption.below:
            self._text(x, y + 8, box.caption.below, 12, _QUIET)

    def _name(self, caption: Caption, x: float, y: float, in_head: bool = False) -> None:
        """The name and, beside it, the class: two texts that stand as one."""
        beside = "  ".join(filter(None, [caption.beside, caption.below if in_head else ""]))
        name, quiet = self._width(caption.name, "bold"), self._width(beside, "normal")
        gap = 6 if beside else 0
        left = x if in_head else x - (name + gap + quiet) / 2
        self._text(left, y, caption.name, 12, INK, "bold", "left", in_head)
        if beside:
            self._text(left + name + gap, y, beside, 12, _QUIET, "normal", "left", in_head)

    def _width(self, text: str, weight: str) -> float:
        font = FontProperties(size=12, weight=weight)
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])

    def _rectangle(self, box: GraphBox, inside: str, around: str, radius: float) -> None:
        style = f"round,pad=0,rounding_size={radius}"
        patch = FancyBboxPatch(
            (box.x, box.y), box.width, box.height, boxstyle=style, facecolor=inside, edgecolor=around,
            linewidth=self._points,
        )  # fmt: skip
        self._axes.add_patch(patch)

    def _line(self, line: Connector) -> None:
        x, upper, lower = line.points[0]
        corners, codes = [(x, upper), (x, lower)], [int(Path.MOVETO), int(Path.LINETO)]
        for x2, upper2, lower2 in line.turns():
            middle = (lower + upper2) / 2
            corners += [(x, middle), (x2, middle), (x2, upper2), (x2, lower2)]
            codes += [int(Path.CURVE4)] * 3 + [int(Path.LINETO)]
            x, lower = x2, lower2
        way = Path(corners, codes)
        self._axes.add_patch(PathPatch(way, facecolor="none", edgecolor=_EDGE, linewidth=1.3 * self._points))
        if line.arrow:
            x, y = corners[-1]
            tip = [(x - 3.5, y - TIP), (x + 3.5, y - TIP), (x, y)]
            self._axes.add_patch(Polygon(tip, facecolor=_EDGE, edgecolor="none"))

    def _text(
        self, x: float, y: float, text: str, size: float, colour: str, weight: str = "normal", side: str = "center",
        halo: bool = False,
    ) -> None:  # fmt: skip
        drawn = self._axes.text(
            x, y, text, fontsize=size * self._points, color=colour, weight=weight, ha=side,
            va="center_baseline", parse_math=False,
        )  # fmt: skip
        if halo:
            drawn.set_path_effects([withStroke(linewidth=3 * self._points, foreground="#f4f8fe")])
