"""A drawing with some parts open: every box, frame and line in its final place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch_debugger.diagrams.captions import NAME_SIZE, Caption
from torch_debugger.diagrams.insides import Inside, Wire
from torch_debugger.diagrams.layered import Size
from torch_debugger.diagrams.lettering import text_width
from torch_debugger.diagrams.parts import Part

PAD, HEAD = 12.0, 26.0  # between a frame and what it holds; above it, with the title
TIP = 8.0  # length of an arrow


class Box(NamedTuple):
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


class Line(NamedTuple):
    """Points at which it turns: from one to the next it bends softly, and falls straight down at each."""

    points: list[tuple[float, float, float]]  # x, and from which y down to which
    arrow: bool  # ends at a box
    told: str

    def turns(self) -> list[tuple[float, float, float]]:
        """All points but the first; straight where the arrow is."""
        *between, (x, upper, lower) = self.points[1:]
        return [*between, (x, upper - TIP if self.arrow else upper, lower)]


@dataclass
class Scene:
    width: float
    height: float
    frames: list[Box] = field(default_factory=list)  # the outer before the inner
    boxes: list[Box] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


@dataclass
class Opened:
    """A part that shows its inside."""

    part: Part
    inside: Inside
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


def scene_of(root: Opened) -> Scene:
    scene = Scene(*root.size[:2])
    _draw(scene, root, 0.0, 0.0, 0)
    return scene


def _draw(scene: Scene, here: Opened, left: float, top: float, depth: int) -> None:
    inner, inner_top = left + here.margin, top + HEAD
    for part, member, place in zip(here.part.parts, here.members, here.inside.places, strict=False):
        is_open = isinstance(member, Opened)
        caption = member.caption if isinstance(member, Opened) else member
        box = Box(part, caption, inner + place.left, inner_top + place.top, place.width, place.height, depth)
        (scene.frames if is_open else scene.boxes).append(box)
        if isinstance(member, Opened):
            _draw(scene, member, box.x, box.y, depth + 1)
    for number, text in enumerate(here.inside.words):
        place = here.inside.places[len(here.part.parts) + number]
        middle = inner + place.left + place.anchor, inner_top + place.top + place.height / 2
        scene.words.append(Words(text, *middle))
    scene.lines += [_line(here, wire, inner, inner_top) for wire in here.inside.wires]


def _line(here: Opened, wire: Wire, left: float, top: float) -> Line:
    inside = here.inside
    source, target = inside.places[wire.source], inside.places[wire.target]
    begin = -HEAD if wire.source in inside.entries.values() else source.top + source.height
    end = inside.height + PAD if wire.target in inside.exits.values() else target.top
    points = [(source.left + source.anchor + wire.leaves, begin, inside.rows[source.row][1])]
    points += [(x, *inside.rows[row]) for x, row in wire.bends]
    points.append((target.left + target.anchor + wire.reaches, inside.rows[target.row][0], end))
    moved = [(left + x, top + upper, top + lower) for x, upper, lower in points]
    return Line(moved, isinstance(_member(here, wire.target), Caption), wire.told)


def _member(here: Opened, place: int) -> Opened | Caption | None:
    return here.members[place] if place < len(here.members) else None


def head_width(caption: Caption) -> float:
    quiet = "  ".join(filter(None, ["", caption.beside, caption.below]))
    return text_width(caption.name, NAME_SIZE, bold=True) + text_width(quiet, NAME_SIZE)
