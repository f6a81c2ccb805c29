"""What stands in a box and on a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.records.model import (
    INPUT,
    MODULE,
    OPERATION,
    OUTPUT,
    UNKNOWN_FORM,
    GraphModule,
    ModelGraph,
    TensorForm,
)
from torch_debugger.report.graph_layout import Layout, Link, Size, box_size, lay_out, shortened, text_width, visible
from torch_debugger.report.model_graph_parts import (
    EDGE,
    MOST_LINES,
    PIECE,
    REPEAT,
    Carried,
    Part,
    Strand,
    Strands,
    Tensor,
)

NAME_SIZE, SMALL_SIZE = 12.0, 12.0  # smaller is not read at the size at which it is drawn
_LONGEST_NAME, _LONGEST_LINE = 34, 56
_MOST_WORDS = 3
_PAD = 10.0
LINE, SMALL_LINE = 16.0, 14.0


@dataclass(frozen=True)
class Caption:
    name: str  # bold, for modules
    beside: str = ""  # on the same line, quiet
    below: str = ""  # a quieter line
    full: str = ""  # all of it, for a tooltip

    def size(self) -> tuple[float, float]:
        first = text_width(self.name, NAME_SIZE, bold=True)
        if self.beside:
            first += text_width(f"  {self.beside}", NAME_SIZE)
        width = max(first, text_width(self.below, SMALL_SIZE)) + 2 * _PAD
        return max(44.0, width), (LINE + 12 if not self.below else LINE + SMALL_LINE + 12)


class Captions:
    def __init__(self, graph: ModelGraph, parameters: Mapping[int, list[str]], more: Callable[[Part], str]) -> None:
        self._more = more
        self._graph = graph
        self._modules: dict[str, GraphModule] = {module.path: module for module in graph.modules}
        self._parameters = parameters

    def of(self, part: Part, leaving: Iterable[TensorForm]) -> Caption:
        shapes = forms_text(leaving)
        if part.kind == MODULE:
            return self._module(part, shapes)
        if part.kind == OPERATION:
            node = self._graph.nodes[part.nodes[0]]
            parameters = _some(self._parameters.get(part.nodes[0], []))
            return _caption(part.name, parameters, shapes or forms_text(node.outputs), node.detail)
        if part.kind in (REPEAT, PIECE):
            return _caption(part.name, "", part.module or f"{part.boxes:,} operations", shapes)
        if part.nodes and not part.parts:
            node = self._graph.nodes[part.nodes[0]]
            if part.kind != INPUT:
                shapes = forms_text(edge.form for edge in self._graph.edges if edge.target == part.nodes[0])
            beside = "" if part.name.startswith(part.kind) else part.kind
            return _caption(part.name, beside, shapes or forms_text(node.outputs), "")
        return _caption(part.name)

    def _module(self, part: Part, shapes: str) -> Caption:
        module = self._modules.get(part.path)
        count = module.parameters if module is not None else 0
        called = "" if part.call == 1 else f"call {part.call}"
        beside = ", ".join(filter(None, [part.module if part.module != part.name else "", called]))
        params = "" if not count else f"{count_text(count)} params" if part.call == 1 else "same params"
        detail = module.detail if module is not None else ""
        full = " ".join(filter(None, [part.path, f"{part.module}({detail})", f"{count:,} parameters"]))
        below = " · ".join(filter(None, [shapes, params, self._more(part)]))
        return _caption(part.name, beside, below, full)


def _caption(name: str, beside: str = "", below: str = "", more: str = "") -> Caption:
    name, beside, below, more = (visible(text) for text in (name, beside, below, more))
    full = "\n".join(filter(None, [" ".join(filter(None, [name, beside])), below, more]))
    short = shortened(name, _LONGEST_NAME), shortened(beside, _LONGEST_NAME), shortened(below, _LONGEST_LINE)
    return Caption(*short, full)


def _some(names: list[str]) -> str:
    """position; weight_ih and 3 more"""
    return "" if not names else names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def forms_text(forms: Iterable[TensorForm]) -> str:
    """[2, 64]; two of them; 3 tensors"""
    texts = list(dict.fromkeys(form_text(form) for form in forms if form != UNKNOWN_FORM))
    return ", ".join(texts) if len(texts) < 3 else f"{len(texts)} shapes"


def form_text(form: TensorForm) -> str:
    """[2, ?, 64]: ragged in the middle; nothing where the shape is not known."""
    if form == UNKNOWN_FORM:
        return ""
    return f"[{', '.join('?' if size < 0 else str(size) for size in form.shape)}]"


def count_text(count: int) -> str:
    """1,234; 36.9k; 11.7M"""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if count >= size:
            scaled = count / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 999.5 else f"{scaled:,.0f}{letter}"
    return f"{count:,}"


# The inside of one part, laid out by itself: its parts closed, words on lines, lines to its edge.
_PORT_GAP, _CORNER = 11.0, 9.0
_WORDS_HEIGHT = 14.0


@dataclass(frozen=True)
class Rectangle:
    left: float
    top: float
    width: float
    height: float
    anchor: float  # from its left edge
    row: int


@dataclass(frozen=True)
class Wire:
    source: int  # among the places
    target: int
    tensor: str
    leaves: float  # how far right of the anchor of its box
    reaches: float
    bends: tuple[tuple[float, int], ...]  # x, and which row it passes
    told: str  # the shapes and types it carries


@dataclass
class BoxContents:
    """First the parts, then words, then where lines come in and go out at the edge."""

    places: list[Rectangle] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    entries: dict[str, int] = field(default_factory=dict)  # tensor -> place
    exits: dict[str, int] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    rows: list[tuple[float, float]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0

    @property
    def anchor(self) -> float:
        """Where the first line comes in, or else goes out: the column of whoever leads there."""
        ends = [*self.entries.values(), *self.exits.values()]
        return self.places[ends[0]].left + self.places[ends[0]].anchor if ends else self.width / 2

    def port(self, place: int) -> float:
        """How far right of the anchor a line comes in or goes out."""
        return self.places[place].left + self.places[place].anchor - self.anchor


@dataclass(frozen=True)
class Member:
    """How a part appears inside another: closed, or open with its own inside."""

    size: Size
    several: bool  # gives several shapes
    inside: BoxContents | None = None


def inside_of(part: Part, strands: Strands, members: Sequence[Member]) -> BoxContents:
    return _BoxBuilder(part, strands, members).inside()


def tensor_name(tensor: Tensor) -> str:
    return f"{tensor.node}.{tensor.output}"


class _BoxBuilder:
    def __init__(self, part: Part, strands: Strands, members: Sequence[Member]) -> None:
        self._part = part
        self._members = members
        self._inside = BoxContents()
        self._sizes = [member.size for member in members]
        self._links: list[Link] = []
        self._tensors: list[tuple[str, Carried]] = []
        said = self._say(strands)
        for strand in strands:
            for place, ends in ((strand.source, self._inside.entries), (strand.target, self._inside.exits)):
                if place == EDGE and tensor_name(strand.tensor) not in ends:
                    ends[tensor_name(strand.tensor)] = len(self._sizes)
                    self._sizes.append(box_size(8.0, 1.0))
        for strand, carried in strands.items():
            self._link(strand, carried, said)

    def inside(self) -> BoxContents:
        kinds = [part.kind for part in self._part.parts]
        first = {*self._inside.entries.values(), *(at for at, kind in enumerate(kinds) if kind == INPUT)}
        last = {*self._inside.exits.values(), *(at for at, kind in enumerate(kinds) if kind == OUTPUT)}
        # Of a model that could not be run nothing is known but the order of its modules.
        links = self._links or [Link(at, at + 1, 0) for at in range(len(kinds) - 1)]
        layout = lay_out(self._sizes, links, first=first, last=last)
        spots = layout.spots[: len(self._sizes)]
        found = self._inside
        found.places = [
            Rectangle(spot.x - spot.anchor, spot.y, spot.width, spot.height, spot.anchor, spot.row) for spot in spots
        ]
        found.rows, found.width, found.height = layout.rows, layout.width, layout.height
        if self._links:
            leaves, reaches = self._leaving(layout), self._reaching(layout)
            found.wires = [
                Wire(
                    link.upper,
                    link.lower,
                    name,
                    leaves[link.upper, link.tensor],
                    reaches[number],
                    tuple((layout.spots[bend].x, layout.spots[bend].row) for bend in layout.ways[number][1:-1]),
                    _carried_text(carried),
                )
                for number, (link, (name, carried)) in enumerate(zip(self._links, self._tensors, strict=True))
            ]
        return found

    def _say(self, strands: Strands) -> dict[tuple[Tensor, int, str], int]:
        """Words of the same tensor from the same box stand once."""
        said: dict[tuple[Tensor, int, str], int] = {}
        for strand, carried in strands.items():
            text = self._text(strand, carried)
            if text and (strand.tensor, strand.source, text) not in said:
                said[strand.tensor, strand.source, text] = len(self._sizes)
                size = box_size(text_width(text, SMALL_SIZE) + 8, _WORDS_HEIGHT)
                self._sizes.append(size._replace(thin=True))
                self._inside.words.append(text)
        return said

    def _text(self, strand: Strand, carried: Carried) -> str:
        """What a line says: the views on the way, and the shape where it is another one behind them, or where
        the box above gives several shapes, so each line says which one it is."""
        if len(carried.tensors) > MOST_LINES:
            return f"{len(carried.tensors):,} tensors"
        words = ", ".join(list(carried.words)[:_MOST_WORDS])
        if len(carried.words) > _MOST_WORDS:
            words += " ..."
        to_output = strand.target != EDGE and self._part.parts[strand.target].kind == OUTPUT
        several = strand.source != EDGE and self._members[strand.source].several and not to_output
        changed = carried.taken.keys() != carried.given.keys()
        shapes = forms_text(carried.taken) if changed or several else ""
        if words and len({form_text(form) for form in carried.taken}) > 1:
            shapes = ""
        return shortened(" ".join(filter(None, [words, shapes])), _LONGEST_LINE)

    def _link(self, strand: Strand, carried: Carried, said: dict[tuple[Tensor, int, str], int]) -> None:
        name = tensor_name(strand.tensor)
        source = strand.source if strand.source != EDGE else self._inside.entries[name]
        target = strand.target if strand.target != EDGE else self._inside.exits[name]
        words = said.get((strand.tensor, strand.source, self._text(strand, carried)))
        if words is None:
            self._add(Link(source, target, strand.tensor), name, carried)
            return
        self._add(Link(source, words, strand.tensor), name, carried)
        self._add(Link(words, target, words), name, carried)

    def _add(self, link: Link, name: str, carried: Carried) -> None:
        if link not in self._links:
            self._links.append(link)
            self._tensors.append((name, carried))

    def _leaving(self, layout: Layout) -> dict[tuple[int, object], float]:
        """Lines of one tensor leave at one point; several tensors side by side."""
        towards: dict[int, dict[object, float]] = defaultdict(dict)
        names = {link.tensor: name for link, (name, _) in zip(self._links, self._tensors, strict=True)}
        for link, way in zip(self._links, layout.ways, strict=True):
            towards[link.upper].setdefault(link.tensor, layout.spots[way[1]].x)
        found: dict[tuple[int, object], float] = {}
        for place, tensors in towards.items():
            order = sorted(tensors, key=lambda tensor: tensors[tensor])
            inner = self._members[place].inside if place < len(self._members) else None
            if inner is not None:
                found |= {(place, tensor): inner.port(inner.exits[names[tensor]]) for tensor in order}
                continue
            gap = _gap(len(order), layout.spots[place].width, 2 * _PORT_GAP)
            found |= {(place, tensor): (at - (len(order) - 1) / 2) * gap for at, tensor in enumerate(order)}
        return found

    def _reaching(self, layout: Layout) -> list[float]:
        """Straight down where it can be, else at the near corner; none on another."""
        found = [0.0] * len(self._links)
        arriving: dict[int, list[int]] = defaultdict(list)
        for number, link in enumerate(self._links):
            if link.lower < len(self._members):
                arriving[link.lower].append(number)
        for place, numbers in arriving.items():
            box, inner = layout.spots[place], self._members[place].inside
            if inner is not None:
                offsets = [inner.port(inner.entries[self._tensors[number][0]]) for number in numbers]
            else:
                numbers.sort(key=lambda number: layout.spots[layout.ways[number][-2]].x)
                targets = [layout.spots[layout.ways[number][-2]].x - box.x for number in numbers]
                offsets = _spread(targets, box.width)
            for number, offset in zip(numbers, offsets, strict=True):
                found[number] = offset
        return found


def _gap(count: int, width: float, wide: float) -> float:
    return min(wide, (width - 2 * _CORNER) / max(1, count - 1))


def _spread(targets: list[float], width: float) -> list[float]:
    """In their order, apart from each other and within the box."""
    most = max(0.0, width / 2 - _CORNER)
    gap = _gap(len(targets), width, _PORT_GAP)
    found = [min(most, max(-most, target)) for target in targets]
    for at in range(1, len(found)):
        found[at] = max(found[at], found[at - 1] + gap)
    if found[-1] > most:
        found[-1] = most
        for at in reversed(range(len(found) - 1)):
            found[at] = min(found[at], found[at + 1] - gap)
    return found


def _carried_text(carried: Carried) -> str:
    kinds = dict.fromkeys(form.dtype for form in carried.taken)
    return " ".join(filter(None, [", ".join(carried.words), forms_text(carried.taken), ", ".join(kinds)]))


# A drawing with some parts open: every box, frame and line in its final place.
PAD, HEAD = 12.0, 26.0  # between a frame and what it holds; above it, with the title
TIP = 8.0  # length of an arrow


class GraphBox(NamedTuple):
    part: Part
    caption: Caption
    x: float  # left
    y: float
    width: float
    height: float
    depth: int


class Words(NamedTuple):
    text: str
    x: float  # of the middle
    y: float


class Connector(NamedTuple):
    """Points at which it turns: from one to the next it bends softly, and falls straight down at each."""

    points: list[tuple[float, float, float]]  # x, and from which y down to which
    arrow: bool  # ends at a box
    told: str

    def turns(self) -> list[tuple[float, float, float]]:
        """All points but the first; straight where the arrow is."""
        *between, (x, upper, lower) = self.points[1:]
        return [*between, (x, upper - TIP if self.arrow else upper, lower)]


@dataclass
class GraphDrawing:
    width: float
    height: float
    frames: list[GraphBox] = field(default_factory=list)  # the outer before the inner
    boxes: list[GraphBox] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    lines: list[Connector] = field(default_factory=list)


@dataclass
class Opened:
    """A part that shows its inside."""

    part: Part
    inside: BoxContents
    caption: Caption
    members: list[Opened | Caption]  # its parts; a closed one is its caption alone

    @property
    def margin(self) -> float:
        """On both sides, where the title is wider than the inside."""
        return PAD + max(0.0, (head_width(self.caption) - self.inside.width) / 2)

    @property
    def size(self) -> Size:
        width, height = self.inside.width + 2 * self.margin, self.inside.height + HEAD + PAD
        return Size(width, height, self.margin + self.inside.anchor)


def drawing_of(root: Opened) -> GraphDrawing:
    drawing = GraphDrawing(*root.size[:2])
    _draw(drawing, root, 0.0, 0.0, 0)
    return drawing


def _draw(drawing: GraphDrawing, here: Opened, left: float, top: float, depth: int) -> None:
    inner, inner_top = left + here.margin, top + HEAD
    for part, member, place in zip(here.part.parts, here.members, here.inside.places, strict=False):
        caption = member.caption if isinstance(member, Opened) else member
        box = GraphBox(part, caption, inner + place.left, inner_top + place.top, place.width, place.height, depth)
        if isinstance(member, Opened):
            drawing.frames.append(box)
            _draw(drawing, member, box.x, box.y, depth + 1)
        else:
            drawing.boxes.append(box)
    for number, text in enumerate(here.inside.words):
        place = here.inside.places[len(here.part.parts) + number]
        middle = inner + place.left + place.anchor, inner_top + place.top + place.height / 2
        drawing.words.append(Words(text, *middle))
    drawing.lines += [_line(here, wire, inner, inner_top) for wire in here.inside.wires]


def _line(here: Opened, wire: Wire, left: float, top: float) -> Connector:
    inside = here.inside
    source, target = inside.places[wire.source], inside.places[wire.target]
    begin = -HEAD if wire.source in inside.entries.values() else source.top + source.height
    end = inside.height + PAD if wire.target in inside.exits.values() else target.top
    points = [(source.left + source.anchor + wire.leaves, begin, inside.rows[source.row][1])]
    points += [(x, *inside.rows[row]) for x, row in wire.bends]
    points.append((target.left + target.anchor + wire.reaches, inside.rows[target.row][0], end))
    moved = [(left + x, top + upper, top + lower) for x, upper, lower in points]
    member = here.members[wire.target] if wire.target < len(here.members) else None
    return Connector(moved, isinstance(member, Caption), wire.told)


def head_width(caption: Caption) -> float:
    quiet = "  ".join(filter(None, ["", caption.beside, caption.below]))
    return text_width(caption.name, NAME_SIZE, bold=True) + text_width(quiet, NAME_SIZE)
