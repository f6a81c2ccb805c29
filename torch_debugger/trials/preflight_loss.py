"""The first loss beside that of guessing: an untrained model should do about as well."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.model.autograd_graph import op_name, saved, saved_factor, signed
from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight_case import Case, NotPossibleError, failed, passed

INITIAL_LOSS_NAME = "initial loss"

# Scores that know nothing and are spread by s cost half of s squared more than a guess. As torch starts its
# layers, s is about 0.6 for inputs of deviation 1 and the loss 0.2 above the guess; 1.0 above it is s = 1.4,
# inputs or a last layer more than twice as large. With many classes half of the guess is more than that.
_TIMES, _ABOVE = 1.5, 1.0
_TIMES_VARIANCE = 20.0
_LARGE = 50.0  # numbers that a last layer takes long to reach, or to come down from
_FEWEST = 8  # targets
_KNOWING = 0.5  # of the guess: untrained models are never that good


def try_initial_loss(case: Case) -> TrialResult:
    loss = case.loss()
    value, guess = loss.item(), guess_for(loss)
    if not math.isfinite(value):
        return failed(
            INITIAL_LOSS_NAME,
            f"The loss is {value:g} before any training.",
            "torch_debugger.find_nan(model, inputs) names the op that makes it so.",
            loss=value,
        )
    if guess is None:
        raise NotPossibleError(
            f"The loss is {value:.4g}; what guessing would give is known for cross-entropy, binary "
            "cross-entropy and mean squared error alone."
        )
    numbers = {"loss": value, "guessing": guess.loss}
    if value < 0:
        return failed(
            INITIAL_LOSS_NAME, f"The loss is {value:.4g}, and cannot be below 0 for probabilities.", NOT_LOGS, **numbers
        )
    most = max(_TIMES * guess.loss, guess.loss + _ABOVE * guess.times)
    if guess.kind == "numbers":
        most = _TIMES_VARIANCE * guess.loss + 1e-12 if guess.size > _LARGE else math.inf
    if guess.targets >= _FEWEST and value > most:
        return failed(
            INITIAL_LOSS_NAME,
            f"The loss is {value:.4g}, {value / guess.loss:.3g} times what is expected: {guess.words}.",
            _ADVICE[guess.kind],
            limit=most,
            **numbers,
        )
    if value < _KNOWING * guess.loss and guess.kind != "numbers":
        words = "The model knows something already: its weights are trained, or the answer is in the input."
        return passed(INITIAL_LOSS_NAME, f"The loss is {value:.4g}, below {guess.words}. {words}", **numbers)
    return passed(INITIAL_LOSS_NAME, f"The loss is {value:.4g}; expected is {guess.words}.", **numbers)


NOT_LOGS = (
    "nll_loss takes log-probabilities: call `F.log_softmax(scores, dim=1)` before it, or cross_entropy on the "
    "scores. Targets of binary cross-entropy are between 0 and 1."
)
_SCORES = (
    "Look at what goes into the model (is it normalised?) and at the last layer: `nn.init.normal_(head.weight, "
    "std=0.02)` starts it with small scores."
)
_ADVICE = {
    "classes": _SCORES,
    "binary": _SCORES,
    "numbers": "Bring the targets to mean 0 and deviation 1, with the numbers of the training set, or start "
    "the last layer's bias at their mean; or make the outputs smaller, if it is they that are large.",
}


# What a loss would be if the model only guessed, read from the autograd graph of the loss itself.
_LN2 = math.log(2)
_MEAN, _SUM = 1, 2
# What stands between a loss function of torch's and the loss, and changes no more than its shape.
_PASSING = {"View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Clone", "ToCopy", "Alias"}


@dataclass(frozen=True)
class LossGuess:
    """A guess and what it is worth."""

    words: str  # ln 10, for 10 classes
    loss: float
    targets: int
    kind: str  # classes | binary | numbers
    size: float = 0.0  # of the larger of prediction and target, root mean square; of numbers
    times: float = 1  # a loss that is summed counts each of its targets
    hard: bool = True  # the right answer has a loss of 0


def sides_of(loss: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """What the loss function was given, prediction and target, where it is one of those."""
    node = _function(loss)[0]
    if node is None or op_name(node) not in _READERS:
        return None
    prediction, target = saved(node, "_saved_self"), saved(node, "_saved_target")
    both = isinstance(prediction, torch.Tensor) and isinstance(target, torch.Tensor)
    return (prediction.detach(), target.detach()) if both else None


def _function(loss: torch.Tensor) -> tuple[Any, bool, float]:
    """The node of the loss function, whether a mean is taken after it, and what it is multiplied with."""
    node, averaged, factor = loss.grad_fn, False, 1.0
    while node is not None:
        op, number = op_name(node), saved_factor(node).get("factor")
        if isinstance(number, float) and number > 0:
            factor *= number if op == "Mul" else 1 / number
        elif op not in _PASSING and op != "Mean":
            break
        averaged = averaged or op == "Mean"
        node = next((operand for operand, _ in node.next_functions if operand is not None), None)
    return node, averaged, factor


@torch.no_grad()
def guess_for(loss: torch.Tensor) -> LossGuess | None:
    """None where the loss is not one loss function of a kind that is known."""
    node, unreduced, factor = _function(loss)
    read = _READERS.get(op_name(node)) if node is not None else None
    reduction = saved(node, "_saved_reduction") if read is not None else None
    if read is None or saved(node, "_saved_target") is None or (reduction not in (_MEAN, _SUM) and not unreduced):
        return None
    found = read(node, reduction == _SUM)
    if found is None:
        return None
    times = factor * found.times
    words = found.words if math.isclose(times, 1.0, rel_tol=1e-3) else f"{found.words}, times {times:.4g}"
    return dataclasses.replace(found, words=words, loss=factor * found.loss, times=times)


def _classes(node: Any, summed: bool) -> LossGuess | None:
    scores, target = saved(node, "_saved_self"), saved(node, "_saved_target")
    classes = scores.shape[1] if scores.dim() > 1 else 0
    if classes < 2 or (summed and saved(node, "_saved_weight") is not None):
        return None
    counted = int((target != int(signed(saved(node, "_saved_ignore_index")))).sum())
    times = counted if summed else 1
    words = f"ln {classes} = {math.log(classes):.4g}, what guessing among {classes} classes gives"
    return LossGuess(words, math.log(classes) * times, counted, "classes", times=times)


def _binary(node: Any, summed: bool) -> LossGuess | None:
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
    return LossGuess(words, _LN2 * factor * times, target.numel(), "binary", times=times, hard=hard)


def _numbers(node: Any, summed: bool) -> LossGuess | None:
    target = saved(node, "_saved_target").float()
    variance = float(target.var(correction=0))
    size = max(float(side.float().square().mean().sqrt()) for side in (target, saved(node, "_saved_self")))
    times = target.numel() if summed else 1
    words = f"{variance:.4g}, the variance of the targets, which their mean as an answer gives"
    return LossGuess(words, variance * times, target.numel(), "numbers", size, times)


_READERS = {
    "NllLoss": _classes,
    "NllLoss2D": _classes,
    "BinaryCrossEntropy": _binary,
    "BinaryCrossEntropyWithLogits": _binary,
    "MseLoss": _numbers,
}
