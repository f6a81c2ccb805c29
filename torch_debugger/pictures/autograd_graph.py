"""`graph(loss)`: what a tensor was made from, as autograd will walk it."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from torch_debugger.model.autograd_graph import made_shape, op_name, saved, walk_nodes
from torch_debugger.model.layers import clean_path, inner_model
from torch_debugger.report.graph_layout import Link, Spot, box_size, escaped, lay_out
from torch_debugger.source.frames import locals_of, shown_where_bare
from torch_debugger.source.objects import is_one_of
from torch_debugger.system.errors import UsageError


class Graph:
    """Operations in forward order; plain data, no tensor is held. str() is the graph as text."""

    def __init__(self, name: str, loss: torch.Tensor, names: TensorNames) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self.complete = True
        self._reason = "it is a leaf, made by no operation"
        if loss.grad_fn is not None:
            self.operations, more = read_operations(loss.grad_fn, names)
            self.complete = not more
        elif not loss.requires_grad:
            self._reason = (
                "it does not require a gradient. It was made under no_grad(), detached, "
                "or from tensors of which none requires one"
            )
        leaves = set(self.leaves)
        self.unreached: tuple[str, ...] = ()
        for trained in names.trained:
            missing = [name for name in trained if name not in leaves]
            # The rest of every model that the graph has parts of; of a model that stands alone, all the same.
            if len(missing) < len(trained) or len(names.trained) == 1:
                self.unreached += tuple(missing)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names of the parameters and other tensors it ends in."""
        found = [leaf.name for operation in self.operations for leaf in operation.leaves]
        return tuple(dict.fromkeys(name for name in found if name))

    def to_svg(self, path: str | PathLike[str] | None = None) -> str:
        """The drawing as SVG; also written to `path`, if one is given."""
        title = self._title()
        boxes = boxes_of(self.operations) if self.operations else [OperationBox(title, (), (), "constant")]
        drawn = sum(box.kind != "constant" for box in boxes)
        remarks = unreached_line(self.unreached)
        if self.operations and drawn != len(self.operations):
            remarks.insert(0, f"{len(self.operations):,} operations are drawn as {drawn} boxes: neighbours share one")
        drawing = graph_svg(boxes, [title, *remarks])
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
    found = TensorNames()
    for name, tensor in (names or {}).items():
        found.add(name, tensor)
    variables = locals_of(sys._getframe(1))
    models: dict[str, Any] = {"": model}
    if model is None:
        models = {
            name: each
            for name, each in variables.items()
            if name != "self" and isinstance(each, nn.Module) and next(each.parameters(), None) is not None
        }
    for name, each in models.items():
        found.add_model(each, f"{name}." if len(models) > 1 else "")
    for name, value in variables.items():
        if isinstance(value, torch.Tensor):
            found.add(name, value)
    return shown_where_bare(Graph(found.by_id.get(id(loss), "loss"), loss, found))


# An autograd graph as text: one line an operation, in the order of the forward.
_MOST_LINES = 1000
_MOST_NAMED = 12


def graph_text(title: str, operations: Sequence[Operation], unreached: Sequence[str]) -> str:
    """`of` names the lines an operation takes; where that is the line above alone, it is left out."""
    rows = []
    for index, operation in enumerate(operations):
        beside = [leaf_text(leaf) for leaf in operation.leaves]
        beside += [f"{text} (no gradient)" for text in operation.without_gradient]
        sources = ", ".join(f"{place + 1}" for place in operation.operands)
        origin = f"of {sources}" if sources and operation.operands != (index - 1,) else ""
        rows.append([str(index + 1), operation.name, str(list(operation.shape)), origin, ", ".join(beside)])
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = ["  ".join([*map(str.ljust, row, widths), row[4]]).rstrip() for row in rows]
    if len(lines) > _MOST_LINES:
        lines = [f"... {len(lines) - _MOST_LINES:,} operations before these", *lines[-_MOST_LINES:]]
    return "\n".join([title, *lines, *unreached_line(unreached)])


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


def graph_svg(boxes: Sequence[OperationBox], heading: Sequence[str]) -> str:
    """The heading stands above the drawing, a line each."""
    links = links_of(boxes)
    layout = lay_out([box_size(*_size(box)) for box in boxes], links)
    letters = max(_NARROWEST, int(layout.width / _LETTER))
    heading = [part for line in heading for part in textwrap.wrap(line, letters)]
    top = _MARGIN + _LINE * len(heading) + _PAD
    width = max(layout.width, max(len(line) for line in heading) * _LETTER) + 2 * _MARGIN
    height = top + layout.height + _MARGIN
    left = (width - layout.width) / 2
    parts = [
        _text(_MARGIN, _MARGIN + _LINE * (line + 0.7), text, "title" if not line else "quiet")
        for line, text in enumerate(heading)
    ]
    parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    for link, way in zip(links, layout.ways, strict=True):
        parts.append(_edge([layout.spots[index] for index in way], boxes[link.upper].kind))
    for index, box in enumerate(boxes):
        spot = layout.spots[index]
        x = spot.x - spot.width / 2
        texts = [
            _text(x + _PAD, spot.y + _LINE * (line + 0.7) + _PAD / 2, text, "leaf" if line else "title")
            for line, text in enumerate((box.title, *box.leaves))
        ]
        frame = f'<rect x="{x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="5"/>'
        parts.append(f'<g class="{box.kind}">{frame}{"".join(texts)}</g>')
    parts.append("</g>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{_STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#8c959f"/></marker></defs>'
        f'<rect class="page" width="100%" height="100%"/>{"".join(parts)}</svg>'
    )


def links_of(boxes: Sequence[OperationBox]) -> list[Link]:
    return [Link(operand, user, operand) for user, box in enumerate(boxes) for operand in box.operands]


def _size(box: OperationBox) -> tuple[float, float]:
    longest = max(len(text) for text in (box.title, *box.leaves))
    return longest * _LETTER + 2 * _PAD, _LINE * (1 + len(box.leaves)) + _PAD


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
class OperationBox:
    title: str
    leaves: tuple[str, ...]
    operands: tuple[int, ...]  # places of other boxes
    kind: str = "operation"  # or "constant": an operand without gradient; or "loss"


def boxes_of(operations: Sequence[Operation]) -> list[OperationBox]:
    groups = _grouped(operations)
    box_of = {place: index for index, group in enumerate(groups) for place in group}
    found = [_box(group, operations, box_of) for group in groups]
    found[-1] = replace(found[-1], kind="loss")
    if len(found) < len(operations):
        return found
    constants: list[OperationBox] = []  # operands without gradient as boxes of their own, where there is room for them
    for index, operation in enumerate(operations):
        place = len(found) + len(constants)
        texts = operation.without_gradient
        if place + len(texts) > MOST_BOXES:
            break
        constants += [OperationBox(text, (), (), "constant") for text in texts]
        found[index] = replace(found[index], operands=(*found[index].operands, *range(place, place + len(texts))))
    return found + constants


def _grouped(operations: Sequence[Operation]) -> Groups:
    """Each alone; else those in a row together; else whatever lies between two that all ways lead through."""
    alone = [[place] for place in range(len(operations))]
    if len(alone) <= MOST_BOXES:
        return alone
    users = Counter(operand for operation in operations for operand in operation.operands)
    by_last: dict[int, list[int]] = {}
    for place, operation in enumerate(operations):
        only = operation.operands[0] if len(operation.operands) == 1 else -1
        earlier = by_last.pop(only) if only in by_last and users[only] == 1 else []
        by_last[place] = [*earlier, place]
    rows = list(by_last.values())
    if len(rows) < _COLLAPSED:
        length = -(-len(operations) // (_COLLAPSED - len(rows)))
        return sorted((piece for row in rows for piece in _pieces(row, length)), key=lambda piece: piece[-1])
    passed = _between_necks(rows, operations)
    return [list(chain(*some)) for some in _pieces(passed, -(-len(passed) // _COLLAPSED))]


def _pieces(items: list[T], length: int) -> list[list[T]]:
    return [items[start : start + length] for start in range(0, len(items), length)]


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


def _box(group: list[int], operations: Sequence[Operation], box_of: dict[int, int]) -> OperationBox:
    here = box_of[group[0]]
    inside = [operations[place] for place in group]
    sources = {box_of[operand] for operation in inside for operand in operation.operands} - {here}
    leaves = [leaf_text(leaf) for operation in inside for leaf in operation.leaves]
    hidden = len(leaves) - _MOST_LEAVES
    if hidden > 0:
        leaves = [*leaves[: _MOST_LEAVES - 1], f"and {hidden + 1} more"]
    shape = list(inside[-1].shape)
    title = f"{inside[0].name} {shape}"
    if len(inside) > 1:
        title = f"{len(inside)} operations, {inside[0].name} to {inside[-1].name} {shape}"
    return OperationBox(title, tuple(leaves), tuple(sorted(sources)))


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
    leaves = {
        index: Leaf(names.by_id.get(id(variable), ""), tuple(variable.shape))
        for index, node in enumerate(nodes)
        if (variable := getattr(node, "variable", None)) is not None
    }
    for index in reversed(range(len(nodes))):  # a weight that is only turned or cast on its way is shown as the weight
        node = nodes[index]
        if index not in leaves and op_name(node) in _FOLDED and len(node.next_functions) == 1:
            weight = order.get(node.next_functions[0][0], -1)
            if weight in leaves:
                leaves[index] = leaves[weight]
    number: dict[int, int] = {}
    found: list[Operation] = []
    for index in _producers_first(nodes, order, leaves):
        number[index] = len(found)
        node = nodes[index]
        places = _operands(node, order, len(order))
        found.append(
            Operation(
                name=op_name(node),
                shape=made_shape(node),
                operands=tuple(number[place] for place in places if place in number),
                leaves=tuple(leaves[place] for place in places if place in leaves),
                without_gradient=tuple(_without_gradient(node, names)),
            )
        )
    return found, more


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
        if not name.startswith("_saved_") or name in _RESULTS:
            continue
        raw = getattr(node, name.replace("_saved_", "_raw_saved_", 1), None)
        if getattr(raw, "unpack_hook", ...) is not None:
            continue  # unpacking what hooks have packed would run them: a checkpointed block, for one
        value = saved(node, name)
        if not isinstance(value, torch.Tensor) or value.requires_grad:
            continue
        # Of whole numbers only single ones: others are indices and labels, which are no operands of the graph.
        if value.is_floating_point() or value.is_complex() or not value.dim():
            yield value


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


def _place(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Where a plain tensor's numbers begin, and how many there are."""
    if not is_one_of(tensor, (torch.Tensor, nn.Parameter)) or tensor.layout is not torch.strided:
        return None
    return (tensor.data_ptr(), tensor.numel()) if tensor.numel() and not tensor.is_meta else None
