"""Softmaxes that weigh a sum: over which dimension their weights add up to 1, and over which they are used.

Read from the graph of the loss on a few looks; nothing is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from torch_debugger.anatomy.dimension_flow import Dims, dims_after, dims_of, summed_over
from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved, signed
from torch_debugger.anatomy.softmax_calls import softmax_call
from torch_debugger.probes.layer_health import Consumers
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, WeightedSum

_DEPTH = 10  # ops between a softmax and its sum
_SCALING = ("Mul", "Div", "Add", "Sub", "MaskedFill", "View", "UnsafeView", "Clone", "Where")


class WeightedSums:
    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch, self.roots = watch, roots

    def look(self, consumers: Consumers, frame: FrameType | None) -> None:
        file = frame.f_code.co_filename if frame is not None else None
        for node in consumers:
            if op_name(node) == "Softmax":
                self._look_at(node, consumers, file)

    def _look_at(self, node: Any, consumers: Consumers, file: str | None) -> None:
        shape, dim = made_shape(node), int(signed(saved(node, "_saved_dim")))
        dim = dim + len(shape) if dim < 0 else dim
        sums = list(weighted_over(node, consumers))
        if not sums or any(dim in over for over in sums):
            return
        modules = [module for _, module in self.roots.alive()]
        place = softmax_call(modules, file, dim, len(shape)) or Place()
        pairs = _is_of_pairs(node)
        batch = shape[0] in _sample_counts(consumers)
        over = tuple(sorted(sums[0]))
        self.watch.emit(WeightedSum(tuple(shape), dim, over, pairs, batch, place, self.watch.step))


def weighted_over(softmax: Any, consumers: Consumers) -> Iterator[frozenset[int]]:
    """The dimensions of the softmax that each sum over its weighted values runs over."""
    waiting: list[tuple[Any, Dims, bool, int]] = [(softmax, dims_of(made_shape(softmax)), False, 0)]
    while waiting:
        node, dims, weighs, depth = waiting.pop()
        for taker in consumers[node]:
            over = summed_over(taker, node, dims)
            if over is not None:
                if weighs or op_name(taker) in ("Bmm", "Mm"):
                    yield over
                continue
            after = dims_after(taker, node, dims) if depth < _DEPTH else None
            if after is not None:
                waiting.append((taker, after, weighs or op_name(taker) == "Mul", depth + 1))


def _is_of_pairs(softmax: Any) -> bool:
    """Scores of attention: products of queries and keys, scaled and masked."""
    node = softmax.next_functions[0][0]
    for _ in range(_DEPTH):
        if node is None or op_name(node) not in _SCALING:
            break
        node = next((operand for operand, _ in node.next_functions if operand is not None), None)
    return node is not None and op_name(node) == "Bmm"


def _sample_counts(consumers: Consumers) -> set[int]:
    """How many samples the losses are taken over: the first size of what is made one number."""
    ends = [node for node in consumers if made_shape(node) == ()]
    shapes = [made_shape(operand) for node in ends for operand, _ in node.next_functions if operand is not None]
    return {shape[0] for shape in shapes if shape}
