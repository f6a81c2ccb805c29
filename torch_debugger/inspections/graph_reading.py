"""An autograd graph as plain operations in forward order, leaves and operands without gradient beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved, walk_nodes
from torch_debugger.inspections.tensor_names import TensorNames

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
