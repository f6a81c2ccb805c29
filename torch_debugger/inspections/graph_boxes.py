"""Operations as the boxes of a drawing: one each, or several in one where there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from torch_debugger.inspections.graph_reading import Operation
from torch_debugger.inspections.graph_text import leaf_text

MOST_BOXES = 150
_COLLAPSED = 80  # boxes at the most, once several operations share one
_MOST_LEAVES = 5  # lines of one box

T = TypeVar("T")
Groups = list[list[int]]  # operations by their places, each group one box; producers first


@dataclass(frozen=True)
class Box:
    title: str
    leaves: tuple[str, ...]
    operands: tuple[int, ...]  # places of other boxes
    kind: str = "operation"  # or "constant": an operand without gradient; or "loss"


def boxes_of(operations: Sequence[Operation]) -> list[Box]:
    groups = _grouped(operations)
    box_of = {place: index for index, group in enumerate(groups) for place in group}
    found = [_box(group, operations, box_of) for group in groups]
    found[-1] = Box(found[-1].title, found[-1].leaves, found[-1].operands, "loss")
    return _with_constants(found, groups, operations) if len(found) == len(operations) else found


def _grouped(operations: Sequence[Operation]) -> Groups:
    """Each alone; else those in a row together; else whatever lies between two that all ways lead through."""
    alone = [[place] for place in range(len(operations))]
    if len(alone) <= MOST_BOXES:
        return alone
    rows = _rows(operations)
    if len(rows) < _COLLAPSED:
        length = -(-len(operations) // (_COLLAPSED - len(rows)))
        return sorted((piece for row in rows for piece in _pieces(row, length)), key=lambda piece: piece[-1])
    passed = _between_necks(rows, operations)
    return [list(chain(*some)) for some in _pieces(passed, -(-len(passed) // _COLLAPSED))]


def _pieces(items: list[T], length: int) -> list[list[T]]:
    return [items[start : start + length] for start in range(0, len(items), length)]


def _rows(operations: Sequence[Operation]) -> Groups:
    users = Counter(operand for operation in operations for operand in operation.operands)
    groups: dict[int, list[int]] = {}  # by the last operation of each
    for place, operation in enumerate(operations):
        only = operation.operands[0] if len(operation.operands) == 1 else -1
        earlier = groups.pop(only) if only in groups and users[only] == 1 else []
        groups[place] = [*earlier, place]
    return list(groups.values())


def _between_necks(groups: Groups, operations: Sequence[Operation]) -> Groups:
    """A neck is a group that no edge passes by: what is before it reaches what is behind only through it."""
    box_of = {place: index for index, group in enumerate(groups) for place in group}
    last_user = list(range(len(groups)))
    for index, group in enumerate(groups):
        for place in group:
            for operand in operations[place].operands:
                last_user[box_of[operand]] = max(last_user[box_of[operand]], index)
    found: Groups = [[]]
    reach = 0  # how far the groups before this one are used
    for index, group in enumerate(groups):
        found[-1] += group
        if reach <= index:
            found.append([])
        reach = max(reach, last_user[index])
    return [group for group in found if group]


def _box(group: list[int], operations: Sequence[Operation], box_of: dict[int, int]) -> Box:
    here = box_of[group[0]]
    inside = [operations[place] for place in group]
    sources = {box_of[operand] for operation in inside for operand in operation.operands} - {here}
    leaves = [leaf_text(leaf) for operation in inside for leaf in operation.leaves]
    hidden = len(leaves) - _MOST_LEAVES
    if hidden > 0:
        leaves = [*leaves[: _MOST_LEAVES - 1], f"and {hidden + 1} more"]
    return Box(_title(inside), tuple(leaves), tuple(sorted(sources)))


def _title(inside: list[Operation]) -> str:
    shape = list(inside[-1].shape)
    if len(inside) == 1:
        return f"{inside[0].name} {shape}"
    names = [operation.name for operation in inside]
    return f"{len(names)} operations, {names[0]} to {names[-1]} {shape}"


def _with_constants(boxes: list[Box], groups: Groups, operations: Sequence[Operation]) -> list[Box]:
    """Operands without gradient as boxes of their own, where there is room for them."""
    added: list[Box] = []
    for index, box in enumerate(boxes):
        texts = [text for place in groups[index] for text in operations[place].without_gradient]
        if len(boxes) + len(added) + len(texts) > MOST_BOXES:
            break
        places = range(len(boxes) + len(added), len(boxes) + len(added) + len(texts))
        added += [Box(text, (), (), "constant") for text in texts]
        boxes[index] = Box(box.title, box.leaves, (*box.operands, *places), box.kind)
    return boxes + added
