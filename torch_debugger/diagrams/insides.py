"""The inside of one part, laid out by itself: its parts closed, words on lines, lines to its edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_debugger.diagrams.captions import SMALL_SIZE, forms_text, words_on
from torch_debugger.diagrams.flows import Tensor
from torch_debugger.diagrams.layered import Layout, Link, Size, box_size, lay_out
from torch_debugger.diagrams.lettering import text_width
from torch_debugger.diagrams.parts import Part
from torch_debugger.diagrams.wiring import EDGE, Carried, Strand, Strands
from torch_debugger.records.op_graph import INPUT, OUTPUT

_PORT_GAP, _CORNER = 11.0, 9.0
_WORDS_HEIGHT = 14.0


@dataclass(frozen=True)
class Place:
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
class Inside:
    """First the parts, then words, then where lines come in and go out at the edge."""

    places: list[Place] = field(default_factory=list)
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
    inside: Inside | None = None


def inside_of(part: Part, strands: Strands, members: Sequence[Member]) -> Inside:
    return _Making(part, strands, members).inside()


def tensor_name(tensor: Tensor) -> str:
    return f"{tensor.node}.{tensor.output}"


class _Making:
    def __init__(self, part: Part, strands: Strands, members: Sequence[Member]) -> None:
        self._part = part
        self._members = members
        self._inside = Inside()
        self._sizes = [member.size for member in members]
        self._links: list[Link] = []
        self._told: list[tuple[str, Carried]] = []
        said = self._say(strands)
        for strand in strands:
            self._edge(strand)
        for strand, carried in strands.items():
            self._link(strand, carried, said)

    def inside(self) -> Inside:
        kinds = [part.kind for part in self._part.parts]
        first = {*self._inside.entries.values(), *(at for at, kind in enumerate(kinds) if kind == INPUT)}
        last = {*self._inside.exits.values(), *(at for at, kind in enumerate(kinds) if kind == OUTPUT)}
        links = self._links if self._links else _in_a_row(len(kinds))
        layout = lay_out(self._sizes, links, first=first, last=last)
        spots = layout.spots[: len(self._sizes)]
        found = self._inside
        found.places = [
            Place(spot.x - spot.anchor, spot.y, spot.width, spot.height, spot.anchor, spot.row)
            for spot in spots
        ]
        found.rows, found.width, found.height = layout.rows, layout.width, layout.height
        if self._links:
            found.wires = self._wires(layout)
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
        to_output = strand.target != EDGE and self._part.parts[strand.target].kind == OUTPUT
        several = strand.source != EDGE and self._members[strand.source].several and not to_output
        return words_on(carried, several)

    def _edge(self, strand: Strand) -> None:
        for place, ends in ((strand.source, self._inside.entries), (strand.target, self._inside.exits)):
            if place == EDGE and tensor_name(strand.tensor) not in ends:
                ends[tensor_name(strand.tensor)] = len(self._sizes)
                self._sizes.append(box_size(8.0, 1.0))

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
            self._told.append((name, carried))

    def _wires(self, layout: Layout) -> list[Wire]:
        leaves, reaches = self._leaving(layout), self._reaching(layout)
        return [
            Wire(
                link.upper,
                link.lower,
                name,
                leaves[link.upper, link.tensor],
                reaches[number],
                tuple((layout.spots[bend].x, layout.spots[bend].row) for bend in layout.ways[number][1:-1]),
                _told(carried),
            )
            for number, (link, (name, carried)) in enumerate(zip(self._links, self._told, strict=True))
        ]

    def _leaving(self, layout: Layout) -> dict[tuple[int, object], float]:
        """Lines of one tensor leave at one point; several tensors side by side."""
        towards: dict[int, dict[object, float]] = defaultdict(dict)
        names = {link.tensor: name for link, (name, _) in zip(self._links, self._told, strict=True)}
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
                offsets = [inner.port(inner.entries[self._told[number][0]]) for number in numbers]
            else:
                numbers.sort(key=lambda number: layout.spots[layout.ways[number][-2]].x)
                wishes = [layout.spots[layout.ways[number][-2]].x - box.x for number in numbers]
                offsets = _spread(wishes, box.width)
            for number, offset in zip(numbers, offsets, strict=True):
                found[number] = offset
        return found


def _in_a_row(count: int) -> list[Link]:
    """Of a model that could not be run nothing is known but the order of its modules."""
    return [Link(at, at + 1, 0) for at in range(count - 1)]


def _gap(count: int, width: float, wide: float) -> float:
    return min(wide, (width - 2 * _CORNER) / max(1, count - 1))


def _spread(wishes: list[float], width: float) -> list[float]:
    """In their order, apart from each other and within the box."""
    most = max(0.0, width / 2 - _CORNER)
    gap = _gap(len(wishes), width, _PORT_GAP)
    found = [min(most, max(-most, wish)) for wish in wishes]
    for at in range(1, len(found)):
        found[at] = max(found[at], found[at - 1] + gap)
    if found[-1] > most:
        found[-1] = most
        for at in reversed(range(len(found) - 1)):
            found[at] = min(found[at], found[at + 1] - gap)
    return found


def _told(carried: Carried) -> str:
    kinds = dict.fromkeys(form.dtype for form in carried.taken)
    return " ".join(filter(None, [", ".join(carried.words), forms_text(carried.taken), ", ".join(kinds)]))
