"""Graphs as pictures: a model laid out and drawn as SVG, HTML, PNG and text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torch_debugger.model.graph import model_graph as recorded_graph
from torch_debugger.model.graph_recorder import scoped
from torch_debugger.model.inputs import Call, is_size, read_sizes
from torch_debugger.records.model import INPUT, OPERATION, OUTPUT, PARAMETER, ModelGraph
from torch_debugger.report.graph_layout import escaped, text_width
from torch_debugger.report.model_graph_boxes import (
    HEAD,
    LINE,
    Caption,
    Connector,
    GraphBox,
    GraphDrawing,
    Opened,
    count_text,
)
from torch_debugger.report.model_graph_data import ModelParts, model_data
from torch_debugger.report.model_graph_parts import Part, TensorFlow
from torch_debugger.system.errors import UsageError

if TYPE_CHECKING:
    from torch_debugger.pictures.picture import Picture


# `model_graph(model, inputs)`: a model and what flows through it, as a drawing that opens and closes.
_KINDS = (".svg", ".png", ".html", ".txt")


def model_graph(
    model: nn.Module, *inputs: Any, input_size: Any = None, depth: int | None = None, **kwargs: Any
) -> ModelDrawing:
    """What a model does with an input: its modules, the operations between them, and every tensor's way.

        torch_debugger.model_graph(model, images)               # in a notebook: shown
        torch_debugger.model_graph(model, ids, mask).save("model.html")
        torch_debugger.model_graph(model, (1, 3, 224, 224)).save("model.svg")
        print(torch_debugger.model_graph(model, {"input_ids": ids}, depth=2))

    Comes back as a `ModelDrawing`. Inputs are the arguments of forward: one after another, as a tuple or
    list, as a dictionary of keywords or as keywords; or a size, also as `input_size`, as torchinfo takes it.
    The model runs once, in evaluation mode and on copies, and is left as it was. As many modules are open as
    can be read, at most 150 boxes; `depth` opens fewer. A model that cannot be run gives its modules, and
    says why.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"model_graph() takes a model, an `nn.Module`, but got {type(model).__name__}.")
    if (inputs or kwargs) and input_size is not None:
        raise UsageError("model_graph() takes inputs or input_size, not both.")
    if depth is not None and depth < 1:
        raise UsageError(f"depth is at least 1, the modules of the model itself, but got {depth}.")
    if input_size is None and inputs and not kwargs and all(is_size(item) for item in inputs):
        input_size = list(inputs)
    calls: Iterable[Any] = [inputs[0] if len(inputs) == 1 else inputs or None]
    if input_size is not None:
        calls = sample_inputs(model, input_size)
    elif kwargs:
        calls = [Call(inputs, kwargs)]
    graphs = (recorded_graph(model, each) for each in list(calls))
    first = next(graphs)
    whole = first if not first.note else next((graph for graph in graphs if not graph.note), first)
    return ModelDrawing(whole, depth)


class ModelDrawing:
    """A model's graph, laid out; plain data, no tensor and no module is held.

    drawing                                        # in a notebook: shown; print() gives text
    drawing.svg(expanded=["layer1.0"])             # with this module open too
    drawing.save("model.html")                     # or .svg, .png, .txt
    drawing.to_dict()                              # everything a page needs to open and close modules
    drawing.picture().log(writer, "model")
    """

    def __init__(self, graph: ModelGraph, depth: int | None = None) -> None:
        self.graph = graph
        self.note = graph.note
        self._parts = ModelParts(graph)
        self._depth = depth

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<ModelDrawing: {self._title()}>"

    def text(self, depth: int | None = None, expanded: Collection[str] = ()) -> str:
        opened = self._parts.opened(self._parts.root, self._opened(depth, expanded))
        return model_text(self._heading(), opened, self._parts.lines)

    def svg(self, depth: int | None = None, expanded: Collection[str] = ()) -> str:
        """`depth` opens modules so deep, while it can be read; `expanded` names more to open and unfold."""
        return model_svg(self._parts.scene(self._opened(depth, expanded)), self._heading())

    def html(self, depth: int | None = None, expanded: Collection[str] = ()) -> str:
        return model_html(model_data(self._parts, self._heading(), self._opened(depth, expanded)))

    def picture(self, depth: int | None = None, expanded: Collection[str] = ()) -> Picture:
        from torch_debugger.pictures.model_graph_plot import model_figure
        from torch_debugger.pictures.picture import Picture

        drawing, heading = self._parts.scene(self._opened(depth, expanded)), self._heading()
        return Picture(self._title(), {}, lambda: model_figure(drawing, heading))

    def to_dict(self) -> dict[str, Any]:
        """Modules, boxes, edges, and the layout of every module's inside: ready for JSON."""
        return model_data(self._parts, self._heading(), self._opened(None, ()))

    def save(self, path: str | Path, depth: int | None = None, expanded: Collection[str] = ()) -> Path:
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in _KINDS:
            raise UsageError(f"a model's graph is saved as {', '.join(_KINDS)}, but {path.name!r} ends otherwise.")
        if not path.parent.is_dir():
            raise UsageError(f"no folder {str(path.parent)!r} to save {path.name!r} in: make it first.")
        if kind == ".png":
            return self.picture(depth, expanded).save(path)
        written = {".svg": self.svg, ".html": self.html, ".txt": self.text}[kind](depth, expanded)
        path.write_text(written, encoding="utf-8")
        return path

    def _repr_svg_(self) -> str:
        return self.svg()

    def _opened(self, depth: int | None, expanded: Collection[str]) -> set[str]:
        openings = self._parts.openings
        return openings.with_paths(openings.automatic(self._depth if depth is None else depth), expanded)

    def _title(self) -> str:
        operations = sum(node.kind == OPERATION for node in self.graph.nodes)
        parameters = self.graph.modules[0].parameters if self.graph.modules else 0
        counted = f"{operations:,} operation{'s' if operations > 1 else ''}, " if operations else ""
        return f"{self._parts.root.name or 'model'}: {counted}{count_text(parameters)} parameters"

    def _heading(self) -> list[str]:
        lines = [self._title(), *([self.note] if self.note else [])]
        unused = unused_modules(self.graph)
        if unused:
            more = f" and {len(unused) - _MOST_NAMED} more" if len(unused) > _MOST_NAMED else ""
            named = ", ".join(f"`{path}`" for path in unused[:_MOST_NAMED])
            lines.append(f"not used in this run: {named}{more}")
        return lines


# A model's drawing as text: one line a box, in the order they ran, modules around them.
def model_text(heading: Sequence[str], root: Opened, lines: Sequence[TensorFlow]) -> str:
    """`of` names the lines a box reads from; where that is the line above alone, it is left out."""
    boxes = dict(enumerate(_boxes(root), 1))
    home = {node: number for number, part in boxes.items() for each in part.all_parts() for node in each.nodes}
    read: dict[int, set[int]] = {number: set() for number in boxes} if lines else {}
    for line in lines:
        source, target = home.get(line.tensor.node), home.get(line.target)
        if source is not None and target is not None and source != target:
            read[target].add(source)
    numbers = {id(part): number for number, part in boxes.items()}
    rows = list(_rows(root, 0, numbers, read))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(5)]
    text = ["  ".join([row[0].rjust(widths[0]), *map(str.ljust, row[1:5], widths[1:]), row[5]]) for row in rows]
    return "\n".join([*heading, *(line.rstrip() for line in text)])


def _boxes(here: Opened) -> Iterator[Part]:
    for part, member in zip(here.part.parts, here.members, strict=True):
        if isinstance(member, Opened):
            yield from _boxes(member)
        else:
            yield part


def _rows(here: Opened, depth: int, numbers: dict[int, int], read: dict[int, set[int]]) -> Iterator[tuple[str, ...]]:
    """Number, name, module, shape, parameters, sources."""
    for part, member in zip(here.part.parts, here.members, strict=True):
        caption = member.caption if isinstance(member, Opened) else member
        shape, _, parameters = caption.below.rpartition(" · ")  # [2, 8] · 40 params
        if not parameters.endswith("params"):
            shape, parameters = caption.below, ""
        columns = f"{'  ' * depth}{caption.name}", caption.beside, shape, parameters
        if isinstance(member, Opened):
            yield "", *columns, ""
            yield from _rows(member, depth + 1, numbers, read)
            continue
        number, sources = numbers[id(part)], ""
        if part.kind != INPUT and number in read and read[number] != {number - 1}:
            sources = f"of {', '.join(map(str, sorted(read[number]))) or 'constants'}"
        yield str(number), *columns, sources


# A model's drawing as SVG; no browser, font or program of others is needed to make it.
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


def model_svg(drawing: GraphDrawing, heading: Sequence[str]) -> str:
    width = max(drawing.width, 420.0)
    wrapped = [part for line in heading for part in textwrap.wrap(line, int(width / 7.5))]
    width = max([width, *(text_width(line, 14, bold=not at) for at, line in enumerate(wrapped))]) + 2 * MARGIN
    top = MARGIN + LINE * len(wrapped)
    height = top + drawing.height + MARGIN - HEAD + 12
    left = (width - drawing.width) / 2
    words = [
        _text(MARGIN, MARGIN + LINE * (at + 0.75), line, "quiet" if at else "title") for at, line in enumerate(wrapped)
    ]
    shown = "".join(
        [
            *(f'<g class="frame {box.part.kind}">{_rect(box, 8)}</g>' for box in drawing.frames),
            *(_line(line) for line in drawing.lines),
            *(_head(box) for box in drawing.frames),
            *(_text(words.x, words.y + 3.5, words.text, "words", anchor="middle") for words in drawing.words),
            *(_box(box) for box in drawing.boxes),
        ]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="td-graph" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{STYLE}</style>{TIP_MARKER}'
        f'<rect class="page" width="100%" height="100%"/>{"".join(words)}'
        f'<g transform="translate({left:.1f} {top - HEAD + 12:.1f})">{shown}</g></svg>'
    )


def _head(box: GraphBox) -> str:
    """Above the lines that come in."""
    return f'<g class="head">{_title(box.caption)}{_first_line(box, box.caption, box.x + 12, 17, inline=True)}</g>'


def _box(box: GraphBox) -> str:
    kind, caption = box.part.kind, box.caption
    behind = _rect(box, 6, shift=4, name="behind") if box.part.parts else ""
    x, middle = box.x + box.width / 2, box.y + box.height / 2
    first = middle + 4.5 if not caption.below else middle - 3
    lines = _first_line(box, caption, x, first - box.y, inline=False)
    below = _text(x, middle + 12, caption.below, "small", anchor="middle") if caption.below else ""
    return f'<g class="box {kind}">{_title(caption)}{behind}{_rect(box, _ROUND.get(kind, 6))}{lines}{below}</g>'


def _first_line(box: GraphBox, caption: Caption, x: float, y: float, inline: bool) -> str:
    beside = " ".join(filter(None, [caption.beside, caption.below if inline else ""]))
    quiet = f'<tspan class="quiet" style="font-weight:400" dx="6">{escaped(beside)}</tspan>' if beside else ""
    anchor, halo, size = ' text-anchor="middle"', "", ""
    if inline:
        # The colour of the paper inside so many frames.
        darker = 1 - (1 - TINT) ** (box.depth + 1)
        tint = "".join(f"{round(255 - (255 - part) * darker):02x}" for part in (0x1F, 0x6F, 0xEB))
        anchor, halo, size = "", " words", f' style="font-size:12px;stroke:#{tint}"'
    begin = f'<text class="name{halo}"{size} x="{x:.1f}" y="{box.y + y:.1f}"{anchor}>'
    return f"{begin}{escaped(caption.name)}{quiet}</text>"


def _title(caption: Caption) -> str:
    lines = "\n".join(map(escaped, caption.full.splitlines()))
    return f"<title>{lines}</title>" if caption.full else ""


def _rect(box: GraphBox, radius: float, shift: float = 0.0, name: str = "") -> str:
    made = f' class="{name}"' if name else ""
    return (
        f'<rect{made} x="{box.x + shift:.1f}" y="{box.y + shift:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius}"/>'
    )


def _line(line: Connector) -> str:
    title = f"<title>{escaped(line.told)}</title>" if line.told else ""
    tip = ' marker-end="url(#td-tip)"' if line.arrow else ""
    return f'<path class="line" d="{path_of(line)}"{tip}>{title}</path>'


def path_of(line: Connector) -> str:
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


# A model's drawing as one HTML file: modules open and close by a click; it needs nothing from outside.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_PAGE_STYLE = """
body { margin: 0; font: 14px system-ui, sans-serif; color: #1d2733 }
header { padding: 14px 18px 6px } h1 { font-size: 16px; margin: 0 0 4px } p { margin: 2px 0; color: #5c6b7a }
button { font: inherit; margin: 6px 6px 0 0; padding: 2px 10px; border: 1px solid #8c9aa8; border-radius: 6px;
  background: #f6f8fa; cursor: pointer }
.opens { cursor: pointer } .opens:focus { outline: none }
.opens:focus-visible rect, .box.opens:hover rect { stroke-width: 2 }
main { overflow-x: auto } .line:hover { stroke: #d1495b; stroke-width: 2.4 }
"""


def model_html(data: dict[str, Any]) -> str:
    script_data = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for letter in "<>&":  # no name of the user's may end the script it stands in
        script_data = script_data.replace(letter, f"\\u00{ord(letter):x}")
    title, *more = data["heading"]
    remarks = "".join(
        f"<p>{escaped(line)}</p>" for line in [*more, "Click a box with a second edge to open it, a title to close it."]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>{escaped(title)}</title>'
        f"<style>{STYLE}{_PAGE_STYLE}</style></head><body><header><h1>{escaped(title)}</h1>{remarks}"
        '<button id="td-first">as at first</button><button id="td-close">close all</button></header>'
        f'<main><svg id="td-sheet" class="td-graph" xmlns="http://www.w3.org/2000/svg">{TIP_MARKER}</svg></main>'
        f'<script type="application/json" id="td-data">{script_data}</script>'
        f"<script>{page_script()}</script></body></html>\n"
    )


def page_script() -> str:
    """Of two files; the first is a module of the page of runs too, and its exports are plain functions here."""
    composing = (files("torch_debugger.report") / "model_graph_scene.js").read_text(encoding="utf-8")
    opening = (files("torch_debugger.pictures") / "model_graph_page.js").read_text(encoding="utf-8")
    return composing.replace("export function", "function") + opening


# Inputs made from sizes alone, as torchinfo takes them; none of the user's random numbers is drawn.
def sample_inputs(model: nn.Module, input_size: Any) -> Iterator[Call]:
    """First numbers as images have them, then indices as words have them."""
    sizes = read_sizes(input_size)
    like = next((value for value in model.parameters() if value.is_floating_point()), torch.empty(0))
    numbers = torch.Generator().manual_seed(0)

    def call(made: Callable[[tuple[int, ...]], torch.Tensor]) -> Call:
        if isinstance(sizes, dict):
            return Call((), {name: made(size) for name, size in sizes.items()})
        return Call(tuple(made(size) for size in sizes), {})

    yield call(lambda size: torch.rand(size, generator=numbers).to(like.device, like.dtype))
    yield call(lambda size: torch.zeros(size, dtype=torch.long, device=like.device))


# Modules whose parameters nothing read in this run: a branch not taken, a layer that was forgotten.
_MOST_NAMED = 6


def unused_modules(graph: ModelGraph) -> list[str]:
    """Paths, the outermost only; none for a graph that is not whole."""
    if graph.note or not graph.scopes:
        return []
    root = graph.scopes[0].name
    read = [node.name for node in graph.nodes if node.kind == PARAMETER]
    called = {scope.path for scope in graph.scopes}
    found: list[str] = []
    for module in graph.modules:
        if not module.path or not module.parameters or module.path in called:
            continue
        begins = f"{scoped(root, module.path)}/"
        is_below = any(module.path.startswith(f"{other}.") for other in found)
        if not is_below and not any(name.startswith(begins) for name in read):
            found.append(module.path)
    return found
