"""`graph(loss)`: what a tensor was made from, as autograd will walk it."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import nn

from torch_debugger.model.autograd_graph import made_shape, op_name, saved, walk_nodes
from torch_debugger.model.layers import clean_path, inner_model
from torch_debugger.report.graph_layout import Layout, Link, Spot, box_size, escaped, lay_out
from torch_debugger.source.frames import locals_of, shown_where_bare
from torch_debugger.source.objects import is_one_of
from torch_debugger.system.errors import UsageError


class Graph:
    """Operations in forward order; plain data, no tensor is held. str() is the graph as text."""

    def __init__(self, name: str, loss: torch.Tensor, names: TensorNames) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self.complete = True
        self._reason = ""
        if loss.grad_fn is None:
            self._reason = _why_no_graph(loss)
        else:
            self.operations, more = read_operations(loss.grad_fn, names)
            self.complete = not more
        self.unreached = tuple(self._unreached(names.trained))

    def _unreached(self, models: list[list[str]]) -> Iterator[str]:
        """The rest of every model that the graph has parts of; of a model that stands alone, all the same."""
        for trained in models:
            missing = [name for name in trained if name not in self.leaves]
            if len(missing) < len(trained) or len(models) == 1:
                yield from missing

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names of the parameters and other tensors it ends in."""
        found = [leaf.name for operation in self.operations for leaf in operation.leaves]
        return tuple(dict.fromkeys(name for name in found if name))

    def to_svg(self, path: str | PathLike[str] | None = None) -> str:
        """The drawing as SVG; also written to `path`, if one is given."""
        boxes = boxes_of(self.operations) if self.operations else [Box(self._title(), (), (), "constant")]
        heading = [self._title(), *self._remarks(boxes), *unreached_line(self.unreached)]
        drawing = graph_svg(boxes, heading)
        if path is not None:
            Path(path).write_text(drawing, encoding="utf-8")
        return drawing

    def __str__(self) -> str:
        return graph_text(self._title(), self.operations, self.unreached)

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _title(self) -> str:
        if not self.operations:
            return f"`{self.name}` has no graph: {self._reason}."
        leaves = {leaf for operation in self.operations for leaf in operation.leaves}
        more = "" if self.complete else ", and more that were not read"
        operations = f"{len(self.operations):,} operation{'s' if len(self.operations) > 1 else ''}"
        ends = f"{len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}"
        return f"graph of `{self.name}`: {operations}, {ends}{more}"

    def _remarks(self, boxes: list[Box]) -> list[str]:
        drawn = sum(box.kind != "constant" for box in boxes)
        if not self.operations or drawn == len(self.operations):
            return []
        return [f"{len(self.operations):,} operations are drawn as {drawn} boxes: neighbours share one"]


def graph(
    loss: torch.Tensor, *, model: nn.Module | None = None, names: Mapping[str, torch.Tensor] | None = None
) -> Graph:
    """The autograd graph of a tensor: each operation with its shape, and the parameters it ends in.

        loss = F.cross_entropy(model(images), labels)
        print(graph(loss))
        graph(loss).to_svg("graph.svg")    # in a notebook, `graph(loss)` alone shows the drawing

    Parameters have the names of `model`, other tensors those of `names`; where these are not given,
    the models and tensors among the variables of the calling function. Parameters that are trained
    but not in the graph are listed: a `detach()` or an unused layer shows there.
    """
    if not isinstance(loss, torch.Tensor):
        raise UsageError(f"graph() takes a tensor, but got {type(loss).__name__}.")
    frame = sys._getframe(1)
    found = names_for(model, names, frame)
    return shown_where_bare(Graph(found.by_id.get(id(loss), "loss"), loss, found))


def _why_no_graph(loss: Any) -> str:
    if loss.requires_grad:
        return "it is a leaf, made by no operation"
    return (
        "it does not require a gradient. It was made under no_grad(), detached, "
        "or from tensors of which none requires one"
    )


# An autograd graph as text: one line an operation, in the order of the forward.
_MOST_LINES = 1000
_MOST_NAMED = 12


def graph_text(title: str, operations: Sequence[Operation], unreached: Sequence[str]) -> str:
    """`of` names the lines an operation takes; where that is the line above alone, it is left out."""
    rows = [_row(index, operation) for index, operation in enumerate(operations)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)) for row in rows]
    lines = [f"{line}  {row[4]}".rstrip() for line, row in zip(lines, rows, strict=True)]
    if len(lines) > _MOST_LINES:
        lines = [f"... {len(lines) - _MOST_LINES:,} operations before these", *lines[-_MOST_LINES:]]
    return "\n".join([title, *lines, *unreached_line(unreached)])


def _row(index: int, operation: Operation) -> list[str]:
    sources = [f"{place + 1}" for place in operation.operands]
    chained = operation.operands == (index - 1,)
    beside = [leaf_text(leaf) for leaf in operation.leaves]
    beside += [f"{text} (no gradient)" for text in operation.without_gradient]
    origin = "" if chained or not sources else f"of {', '.join(sources)}"
    return [str(index + 1), operation.name, str(list(operation.shape)), origin, ", ".join(beside)]


def leaf_text(leaf: Leaf) -> str:
    return f"{leaf.name or 'leaf'} {list(leaf.shape)}"


def unreached_line(unreached: Sequence[str]) -> list[str]:
    if not unreached:
        return []
    more = len(unreached) - _MOST_NAMED
    named = ", ".join(f"`{name}`" for name in unreached[:_MOST_NAMED])
    return [f"not in this graph: {named}{f' and {more} more' if more > 0 else ''}"]


# A laid-out graph as SVG; no browser, font or program of others is needed to make it.
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
    frame = f'<rect x="{left:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="5"/>'
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


# Operations as the boxes of a drawing: one each, or several in one where there are too many.
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


# An autograd graph as plain operations in forward order, leaves and operands without gradient beside them.
MOST_NODES = 20_000
_FOLDED = ("T", "ToCopy", "Transpose")  # between a weight and the op that uses it
_RESULTS = ("_saved_result", "_saved_output", "_saved_total_weight")
# Places of operands that may be left out: a bias, weights of classes, scale and shift of a normalisation.
_OPTIONAL = {"Convolution": 2, "NllLoss": 1, "NativeLayerNorm": 1, "NativeBatchNorm": 1, "NativeGroupNorm": 1}


@dataclass(frozen=True)
class Leaf:
    """A tensor that ends the graph: a parameter, or any other that requires a gradient."""

    name: str  # empty: nobody's name for it is known
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Operation:
    name: str  # Addmm, Relu
    shape: tuple[int, ...]  # of what it made
    operands: tuple[int, ...]  # places of other operations in the list, all before this one
    leaves: tuple[Leaf, ...] = ()
    without_gradient: tuple[str, ...] = ()  # operands: `x [16, 4]`, or "constant or detached"


def read_operations(root: Any, names: TensorNames) -> tuple[list[Operation], bool]:
    """In forward order, the loss last; True when the graph was too large to read it all."""
    nodes, order, more = walk_nodes(root, MOST_NODES)
    leaves = {index: leaf for index, node in enumerate(nodes) if (leaf := _leaf(node, names)) is not None}
    for index in reversed(range(len(nodes))):
        if index not in leaves and (leaf := _folded(nodes[index], leaves, order)) is not None:
            leaves[index] = leaf
    number: dict[int, int] = {}
    found: list[Operation] = []
    for index in _producers_first(nodes, order, leaves):
        number[index] = len(found)
        found.append(_operation(nodes[index], order, leaves, number, names))
    return found, more


def _leaf(node: Any, names: TensorNames) -> Leaf | None:
    variable = getattr(node, "variable", None)
    if variable is None:
        return None
    return Leaf(names.by_id.get(id(variable), ""), tuple(variable.shape))


def _folded(node: Any, leaves: dict[int, Leaf], order: dict[Any, int]) -> Leaf | None:
    """A weight that is only turned or cast on its way is shown as the weight."""
    if op_name(node) not in _FOLDED or len(node.next_functions) != 1:
        return None
    return leaves.get(order.get(node.next_functions[0][0], -1))


def _producers_first(nodes: list[Any], order: dict[Any, int], leaves: dict[int, Leaf]) -> Iterator[int]:
    """Depth first from the loss, without recursion: graphs are deeper than Python's stack."""
    waiting, entered, done = [0], set(), set(leaves)
    while waiting:
        index = waiting[-1]
        fresh = [place for place in _operands(nodes[index], order, len(nodes)) if place not in done]
        if index in done or index in entered or not fresh:
            waiting.pop()
            if index not in done:
                done.add(index)
                yield index
            continue
        entered.add(index)
        waiting += reversed(fresh)


def _operands(node: Any, order: dict[Any, int], read: int) -> list[int]:
    places = (order[operand] for operand, _ in node.next_functions if operand is not None)
    return [place for place in dict.fromkeys(places) if place < read]


def _operation(
    node: Any, order: dict[Any, int], leaves: dict[int, Leaf], number: dict[int, int], names: TensorNames
) -> Operation:
    places = _operands(node, order, len(order))
    return Operation(
        name=op_name(node),
        shape=made_shape(node),
        operands=tuple(number[place] for place in places if place in number),
        leaves=tuple(leaves[place] for place in places if place in leaves),
        without_gradient=tuple(_without_gradient(node, names)),
    )


def _without_gradient(node: Any, names: TensorNames) -> Iterator[str]:
    missing = [place for place, (operand, _) in enumerate(node.next_functions) if operand is None]
    missing = [place for place in missing if place < _OPTIONAL.get(op_name(node), len(node.next_functions))]
    known = list(_saved_constants(node))
    for tensor, _ in zip(known, missing, strict=False):
        if tensor.dim():  # else it is a number
            yield f"{names.of_saved(tensor)} {list(tensor.shape)}".strip()
    for _ in missing[len(known) :]:
        yield "constant or detached"


def _saved_constants(node: Any) -> Iterator[torch.Tensor]:
    """Operands that need no gradient, where the backward needs their values."""
    for name in dir(node):
        if name.startswith("_saved_") and name not in _RESULTS and _is_kept_plainly(node, name):
            value = saved(node, name)
            if isinstance(value, torch.Tensor) and not value.requires_grad and _may_be_operand(value):
                yield value


def _may_be_operand(value: torch.Tensor) -> bool:
    """Of whole numbers only single ones: others are indices and labels, which are no operands of the graph."""
    return value.is_floating_point() or value.is_complex() or not value.dim()


def _is_kept_plainly(node: Any, name: str) -> bool:
    """Unpacking a tensor that hooks have packed would run them: a checkpointed block, for one."""
    raw = getattr(node, name.replace("_saved_", "_raw_saved_", 1), None)
    return getattr(raw, "unpack_hook", ...) is None


# The user's names for tensors: parameters of a model, and variables of the calling function.
class TensorNames:
    """By object, and for tensors that torch hands out anew by the memory they live in."""

    def __init__(self) -> None:
        self.by_id: dict[int, str] = {}
        self._by_memory: dict[tuple[int, int], str] = {}
        self.trained: list[list[str]] = []  # parameters of each model

    def add(self, name: str, tensor: torch.Tensor) -> None:
        self.by_id.setdefault(id(tensor), name)
        place = _place(tensor)
        if place is not None:
            self._by_memory.setdefault(place, name)

    def add_model(self, model: nn.Module, prefix: str = "") -> None:
        parameters = dict(inner_model(model).named_parameters())
        for name, parameter in parameters.items():
            self.add(f"{prefix}{clean_path(name)}", parameter)
        self.trained.append([self.by_id[id(each)] for each in parameters.values() if each.requires_grad])

    def of_saved(self, tensor: torch.Tensor) -> str:
        place = _place(tensor)
        return self._by_memory.get(place, "") if place is not None else ""


def names_for(
    model: nn.Module | None, names: Mapping[str, torch.Tensor] | None, frame: FrameType | None
) -> TensorNames:
    """What is given comes first; then the tensors and models among a frame's variables."""
    found = TensorNames()
    for name, tensor in (names or {}).items():
        found.add(name, tensor)
    if model is not None:
        found.add_model(model)
    held = locals_of(frame) if frame is not None else {}
    if model is None:
        models = {name: value for name, value in held.items() if _is_model(name, value)}
        for name, value in models.items():
            found.add_model(value, f"{name}." if len(models) > 1 else "")
    for name, value in held.items():
        if isinstance(value, torch.Tensor):
            found.add(name, value)
    return found


def _is_model(name: str, value: object) -> bool:
    return name != "self" and isinstance(value, nn.Module) and next(value.parameters(), None) is not None


def _place(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Where a plain tensor's numbers begin, and how many there are."""
    if not is_one_of(tensor, (torch.Tensor, nn.Parameter)) or tensor.layout is not torch.strided:
        return None
    return (tensor.data_ptr(), tensor.numel()) if tensor.numel() and not tensor.is_meta else None
