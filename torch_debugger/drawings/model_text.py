"""A model's drawing as text: one line a box, in the order they ran, modules around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch_debugger.diagrams.flows import Flow
from torch_debugger.diagrams.parts import Part
from torch_debugger.diagrams.scene import Opened
from torch_debugger.records.op_graph import INPUT

_INDENT = "  "


class _Row(NamedTuple):
    number: str
    name: str
    module: str
    shape: str
    parameters: str
    sources: str


def model_text(heading: Sequence[str], root: Opened, lines: Sequence[Flow]) -> str:
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
    text = [
        "  ".join([row.number.rjust(widths[0]), *map(str.ljust, row[1:5], widths[1:]), row.sources])
        for row in rows
    ]
    return "\n".join([*heading, *(line.rstrip() for line in text)])


def _boxes(here: Opened) -> Iterator[Part]:
    for part, member in zip(here.part.parts, here.members, strict=True):
        if isinstance(member, Opened):
            yield from _boxes(member)
        else:
            yield part


def _rows(here: Opened, depth: int, numbers: dict[int, int], read: dict[int, set[int]]) -> Iterator[_Row]:
    for part, member in zip(here.part.parts, here.members, strict=True):
        caption = member.caption if isinstance(member, Opened) else member
        shape, parameters = _columns(caption.below)
        row = _Row("", f"{_INDENT * depth}{caption.name}", caption.beside, shape, parameters, "")
        if isinstance(member, Opened):
            yield row
            yield from _rows(member, depth + 1, numbers, read)
        else:
            number = numbers[id(part)]
            known = part.kind != INPUT and number in read
            sources = _sources(number, sorted(read[number])) if known else ""
            yield row._replace(number=str(number), sources=sources)


def _columns(below: str) -> tuple[str, str]:
    """[2, 8] · 40 params"""
    shape, _, last = below.rpartition(" · ")
    return (shape, last) if last.endswith("params") else (below, "")


def _sources(number: int, read: list[int]) -> str:
    if not read:
        return "of constants"
    return "" if read == [number - 1] else f"of {', '.join(map(str, read))}"
