"""Attention that is computed op by op: softmax(q @ k^T) @ v in the graph of the loss, and what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.attention_source import attention_at
from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved, signed
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.softmax_calls import softmax_call
from torch_debugger.probes.layer_health import Consumers
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import AttentionByHand, Place

_VIEWS = ("Alias", "Clone", "Expand", "Reshape", "ReshapeAlias", "Squeeze", "ToCopy", "Unsqueeze", "UnsafeView",
          "View")  # fmt: skip
_DROPOUTS = ("Mul", "NativeDropout")  # on the CPU it is a product
_BEHIND = (*_DROPOUTS, *_VIEWS)
_BEFORE = ("Add", "Div", "MaskedFill", "Mul", "Sub", "Where", *_VIEWS)
_DEPTH = 8


@dataclass(frozen=True)
class _Attention:
    softmax: Any
    shape: tuple[int, ...]
    kept_bytes: int
    has_dropout: bool


class AttentionsByHand:
    SHORTEST = 128  # of a sequence: below, its square is small

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch, self.roots = watch, roots

    def look(self, consumers: Consumers, frame: FrameType | None) -> None:
        """All that have the same shape are told together: the layers of one model."""
        found: dict[tuple[int, ...], list[_Attention]] = {}
        for node in consumers:
            attention = self._read(node, consumers) if op_name(node) == "Softmax" else None
            if attention is not None:
                found.setdefault(attention.shape, []).append(attention)
        for alike in found.values():
            self._tell(alike, self._place(alike[0].softmax, frame))

    def _tell(self, alike: list[_Attention], place: Place) -> None:
        written = attention_at(place)
        if written is None:
            return
        self.watch.emit(
            AttentionByHand(
                shape=alike[0].shape,
                count=len(alike),
                has_dropout=any(each.has_dropout for each in alike),
                kept_bytes=sum(each.kept_bytes for each in alike),
                names=(written.queries, written.keys, written.values),
                place=place,
                step=self.watch.step,
            )
        )

    def _read(self, softmax: Any, consumers: Consumers) -> _Attention | None:
        """None where it is no attention, or a short one."""
        shape, weights = made_shape(softmax), saved(softmax, "_saved_result")
        if len(shape) < 3 or min(shape[-2:]) < self.SHORTEST or not _is_of_last_dim(softmax, len(shape)):
            return None
        behind = list(_to_product(softmax, consumers))
        if not behind or op_name(behind[-1]) != "Bmm" or not _comes_from_product(softmax) or weights is None:
            return None
        kept = [weights, *(value for node in behind for value in _saved_tensors(node))]
        squares = [each.untyped_storage() for each in kept if each.numel() == weights.numel()]
        storages = {each.data_ptr(): each.nbytes() for each in squares}
        has_dropout = any(op_name(node) in _DROPOUTS for node in behind)
        return _Attention(softmax, shape, sum(storages.values()), has_dropout)

    def _place(self, node: Any, frame: FrameType | None) -> Place:
        file = frame.f_code.co_filename if frame is not None else None
        rank = len(made_shape(node))
        return softmax_call([module for _, module in self.roots.alive()], file, rank - 1, rank) or Place()


def _is_of_last_dim(softmax: Any, rank: int) -> bool:
    return int(signed(saved(softmax, "_saved_dim"))) % rank == rank - 1


def _to_product(node: Any, consumers: Consumers) -> Iterator[Any]:
    """The nodes behind the weights, up to the product with the values; each the only one to take them."""
    for _ in range(_DEPTH):
        takers = consumers[node]
        if len(takers) != 1:
            return
        (node,) = takers
        yield node
        if op_name(node) not in _BEHIND:
            return


def _comes_from_product(softmax: Any) -> bool:
    """Scaled and masked perhaps, but without anything that is learned."""
    node = softmax.next_functions[0][0]
    for _ in range(_DEPTH):
        if node is None or op_name(node) not in _BEFORE:
            break
        learned = [operand for operand, _ in node.next_functions if operand is not None]
        node = learned[0] if len(learned) == 1 else None
    return node is not None and op_name(node) == "Bmm"


def _saved_tensors(node: Any) -> Iterator[torch.Tensor]:
    for name in ("_saved_self", "_saved_other", "_saved_result1"):
        value = saved(node, name)
        if is_a(value, torch.Tensor) and value.layout is torch.strided:
            yield value
