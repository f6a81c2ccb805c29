"""What a loss would be if the model only guessed, read from the autograd graph of the loss itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import op_name, saved, signed

_LN2 = math.log(2)
_MEAN, _SUM = 1, 2
# What stands between a loss function of torch's and the loss, and changes no more than its shape.
_PASSING = {"View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Clone", "ToCopy", "Alias"}


@dataclass(frozen=True)
class Guess:
    """A guess and what it is worth."""

    words: str  # ln 10, for 10 classes
    loss: float
    targets: int
    kind: str  # classes | binary | numbers
    times: int = 1  # a loss that is summed counts each of its targets
    hard: bool = True  # the right answer has a loss of 0


@torch.no_grad()
def guess_for(loss: torch.Tensor) -> Guess | None:
    """None where the loss is not one loss function of a kind that is known."""
    node, unreduced = loss.grad_fn, False
    while node is not None and (op_name(node) in _PASSING or op_name(node) == "Mean"):
        unreduced = unreduced or op_name(node) == "Mean"
        node = node.next_functions[0][0]
    read = _READERS.get(op_name(node)) if node is not None else None
    reduction = saved(node, "_saved_reduction") if read is not None else None
    if (
        read is None
        or saved(node, "_saved_target") is None
        or (reduction not in (_MEAN, _SUM) and not unreduced)
    ):
        return None
    return read(node, reduction == _SUM)


def _classes(node: Any, summed: bool) -> Guess | None:
    scores, target = saved(node, "_saved_self"), saved(node, "_saved_target")
    classes = scores.shape[1] if scores.dim() > 1 else 0
    if classes < 2 or (summed and saved(node, "_saved_weight") is not None):
        return None
    counted = int((target != int(signed(saved(node, "_saved_ignore_index")))).sum())
    times = counted if summed else 1
    words = f"ln {classes} = {math.log(classes):.4g}, what guessing among {classes} classes gives"
    return Guess(words, math.log(classes) * times, counted, "classes", times)


def _binary(node: Any, summed: bool) -> Guess | None:
    target = saved(node, "_saved_target").float()
    if saved(node, "_saved_weight") is not None:
        return None
    weight = saved(node, "_saved_pos_weight")
    factor = 1.0 if weight is None else float((1 - target + weight * target).mean())
    times = target.numel() if summed else 1
    hard = bool(((target == 0) | (target == 1)).all())
    words = f"ln 2 = {_LN2:.4g}, what guessing yes or no gives"
    if weight is not None:
        words = f"{_LN2 * factor:.4g}, what guessing yes or no gives with this pos_weight"
    return Guess(words, _LN2 * factor * times, target.numel(), "binary", times, hard)


def _numbers(node: Any, summed: bool) -> Guess | None:
    target = saved(node, "_saved_target").float()
    variance = float(target.var(correction=0))
    times = target.numel() if summed else 1
    words = f"{variance:.4g}, the variance of the targets, which their mean as an answer gives"
    return Guess(words, variance * times, target.numel(), "numbers", times)


_READERS = {
    "NllLoss": _classes,
    "NllLoss2D": _classes,
    "BinaryCrossEntropy": _binary,
    "BinaryCrossEntropyWithLogits": _binary,
    "MseLoss": _numbers,
}
