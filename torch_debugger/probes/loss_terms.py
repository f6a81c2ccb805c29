"""The loss functions in a loss: what they compared, in numbers.

Read from what autograd saved for their backward, on deep steps; large tensors are sampled. The
numbers of a look are one tensor on their own device: nothing waits for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.model.autograd_graph import made_shape, op_name, saved, signed
from torch_debugger.records import ClassTargets, Comparison, Place, Record, Spread
from torch_debugger.source.objects import is_a
from torch_debugger.stats.dispatch_modes import no_grad

_COMPARING = ("MseLoss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy", "BinaryCrossEntropyWithLogits")
_CHOOSING = ("NllLoss", "NllLoss2D")
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
_MOST_NUMBERS = 2**16
_MOST_ROWS = 64
_MOST_CLASSES = 64
_MOST_TERMS = 4


@dataclass(frozen=True)
class TermLook:
    """Numbers on their device, and the record they will make."""

    numbers: torch.Tensor
    record: Callable[[Sequence[float]], Record]


@no_grad()
def read_terms(nodes: Sequence[Any], site: str, step: int, made: Place) -> list[TermLook]:
    """A look at each of the first loss functions among the nodes of a graph."""
    looks: list[TermLook] = []
    for node in nodes:
        op = op_name(node)
        if op in _COMPARING:
            both, weight = sides(node), saved(node, "_saved_pos_weight")
            if both is not None and not both[0].is_complex():
                one = weight if is_a(weight, torch.Tensor) and weight.numel() == 1 else None
                looks.append(_compared(op, (site, step, made), tuple(both[0].shape), *both, one))
        elif op in _CHOOSING:
            looks += _choose(node, (site, step, made))
        elif op in BY_HAND and (pair := difference_sides(node)) is not None:
            looks += [_compared(op, (site, step, made), made_shape(node), *pair)]
    return looks[:_MOST_TERMS]


def sides(node: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """What a loss was given, as it saved it: prediction and target."""
    prediction, target = saved(node, "_saved_self"), saved(node, "_saved_target")
    for side in (prediction, target):
        if not is_a(side, torch.Tensor) or side.layout is not torch.strided or not side.numel():
            return None
    return prediction.detach(), target.detach()


def _compared(
    op: str,
    known: tuple[str, int, Place],
    shape: tuple[int, ...],
    prediction: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
) -> TermLook:
    numbers = sample(target)
    shares = torch.stack([(numbers < -1).float().mean(), (numbers < 0).float().mean(), (numbers > 1).float().mean()])
    nothing = torch.full((1,), math.nan, device=numbers.device)
    extra = nothing if weight is None else weight.detach().float().reshape(1)

    def record(found: Sequence[float]) -> Record:
        return Comparison(
            known[0], known[1], op, known[2], shape, Spread(*found[:4]), Spread(*found[4:8]), *found[8:12]
        )

    return TermLook(torch.cat([spread(sample(prediction)), spread(numbers), shares, extra]), record)


def _choose(node: Any, known: tuple[str, int, Place]) -> list[TermLook]:
    pair = sides(node)
    if pair is None or pair[0].dim() < 2:
        return []
    scores, target = pair
    classes, ignored = scores.shape[1], int(signed(saved(node, "_saved_ignore_index")))
    some, those = _some_rows(scores, target)
    sums = some.logsumexp(1)
    counted = those != ignored
    picked = some.gather(1, those.where(counted, 0).unsqueeze(1)).squeeze(1)
    surprise = -(picked * counted).sum() / counted.sum()
    # How often each class is the target, and the weight it has; empty where there are many classes.
    chosen, weight = _every(target.reshape(-1), 64 * _MOST_ROWS), saved(node, "_saved_weight")
    counts = weights = torch.empty(0, device=chosen.device)
    if classes <= _MOST_CLASSES:
        counts = (chosen == torch.arange(classes, device=chosen.device).unsqueeze(1)).sum(1).float()
        weights = weight.detach().float() if is_a(weight, torch.Tensor) else weights
    numbers = torch.cat([torch.stack([sums.min(), sums.max(), surprise]), counts, weights])
    shape, total = tuple(scores.shape), target.numel()
    reduction = _REDUCTIONS.get(saved(node, "_saved_reduction"), "")

    def record(found: Sequence[float]) -> Record:
        low, high, lost, *rest = found
        class_counts, class_weights = tuple(rest[: len(counts)]), tuple(rest[len(counts) :])
        return ClassTargets(*known, shape, reduction, ignored, low, high, lost, class_counts, class_weights, total)

    return [TermLook(numbers, record)]


def _some_rows(scores: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (samples, classes) and their targets; of pictures and sequences some places of each."""
    scores, target = _every(scores, _MOST_ROWS), _every(target, _MOST_ROWS)
    if scores.dim() > 2:
        places = scores.flatten(2)  # a view in every usual layout
        stride = -(-places.shape[2] // max(1, _MOST_ROWS // len(places)))
        scores = places[..., ::stride].movedim(1, -1).reshape(-1, places.shape[1])
        target = target.flatten(1)[:, ::stride].reshape(-1)
    return scores.float(), target


def _every(rows: torch.Tensor, most: int) -> torch.Tensor:
    """Rows spread evenly over all of them."""
    return rows[:: -(-rows.shape[0] // most)]


def sample(values: torch.Tensor) -> torch.Tensor:
    flat = values.reshape(-1) if values.is_contiguous() or values.numel() <= _MOST_NUMBERS else values[:1].reshape(-1)
    return _every(flat, _MOST_NUMBERS).float()


def spread(numbers: torch.Tensor) -> torch.Tensor:
    low, high = numbers.aminmax()
    return torch.stack([low, high, numbers.mean(), numbers.std(correction=0)])


# Errors written by hand, as in ((model(x) - y) ** 2).mean(): both sides, from the difference in the graph.
#
# A difference forgets what it was made of. The model's side is at hand where its last op is a linear layer or an
# activation: the one can be computed again for some samples, the other kept its result.
BY_HAND = ("Pow", "Abs")
_SAME_ORDER = ("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze")
_KEPT = ("Sigmoid", "Tanh", "Relu", "Softmax")
_ROWS = 64
_MOST_WEIGHTS = 2**20


def difference_sides(node: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Prediction and target, where a square or an absolute value was taken of prediction - target."""
    difference, minus = saved(node, "_saved_self"), node.next_functions[0][0]
    squared = op_name(node) == "Abs" or saved(node, "_saved_exponent") == 2
    if not squared or not _is_plain(difference) or minus is None or op_name(minus) != "Sub":
        return None
    made = [operand for operand, _ in minus.next_functions]
    if len(made) != 2 or made.count(None) != 1 or saved(minus, "_saved_alpha") != 1:
        return None
    first, count = made[0] is not None, difference.numel()
    node = made[0] if first else made[1]  # of the prediction
    while op_name(node) in _SAME_ORDER and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    rows = _linear(node, count) if op_name(node) == "Addmm" else None
    if op_name(node) in _KEPT:
        result = saved(node, "_saved_result")
        rows = result.detach()[:_ROWS] if _is_plain(result) and result.numel() == count else None
    if rows is None:
        return None
    prediction, apart = rows.reshape(-1), difference.detach().reshape(-1)[: rows.numel()]
    return prediction, prediction - apart if first else prediction + apart


def _linear(node: Any, count: int) -> torch.Tensor | None:
    """The first rows of what a linear layer made, if it made `count` values."""
    (bias_leaf, _), _, (weight_leaf, _) = node.next_functions  # the weight is behind a transposition
    is_turned = weight_leaf is not None and op_name(weight_leaf) == "T"
    bias = getattr(bias_leaf, "variable", None)
    turned = getattr(weight_leaf.next_functions[0][0], "variable", None) if is_turned else None
    inputs: Any = saved(node, "_saved_mat1")
    weight: Any = saved(node, "_saved_mat2") if turned is None else turned.t()
    if bias is None or not all(map(_is_plain, (bias, inputs, weight))) or weight.numel() > _MOST_WEIGHTS:
        return None
    if len(inputs) * weight.shape[1] != count:
        return None
    return torch.addmm(bias.detach(), inputs.detach()[:_ROWS], weight.detach())


def _is_plain(value: Any) -> bool:
    return is_a(value, torch.Tensor) and value.layout is torch.strided and value.is_floating_point()
