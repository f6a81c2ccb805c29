"""Can the model learn one batch by heart? One that cannot will not learn many either."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case
from torch_debugger.trials.preflight.fitting import Fit, Tell, Way, fit, other_way, own_way
from torch_debugger.trials.preflight.guessing import guess_for, sides_of
from torch_debugger.trials.preflight.initial_loss import NOT_LOGS
from torch_debugger.trials.preflight.learned import NOISY
from torch_debugger.trials.preflight.outcomes import failed, passed, steps, untried

NAME = "overfit one batch"

_LEARNED = 0.1  # of the first loss: by heart, no need to go on
_NOT_LEARNED = 0.4  # of it, where every sample has one answer
_NUMBERS_NOT_LEARNED = 0.8  # the same for numbers, which are learned slowly to the last digit
_FEWEST_STEPS = 10  # also for a model that knows the batch already
_SLOW, _HALF = 0.01, 0.5  # shares that the loss fell by
_LOOKS = 5  # at the noise
_OTHER_RATES = (1e-3, 1e-2)


@dataclass(frozen=True)
class Aim:
    """Where the loss starts, and whether it is known how low it can go: to zero."""

    start: float
    to_zero: bool
    noise: float = 0.0  # how far losses of the same weights lie apart, beside their size
    binding: bool = True  # it is meant to fall; the losses of games and of adversaries need not
    limit: float = _NOT_LEARNED  # of the start; above it, the batch is not learned
    frozen: bool = False  # most of the model does not learn
    twins: bool = False  # equal inputs have different answers, which nobody can learn by heart

    def share(self, loss: float) -> float:
        """1 at the start, 0 for the best there is; of other losses, below zero too."""
        return loss / self.start if self.to_zero else 1.0 - (self.start - loss) / max(abs(self.start), 1e-9)

    def reached(self, step: int, loss: float) -> bool:
        return step >= _FEWEST_STEPS and (0 if self.to_zero else -math.inf) <= self.share(loss) < _LEARNED


def try_overfit(case: Case, tell: Tell) -> TrialResult:
    aim = aim_of(case)
    tries = list(_tries(case, aim, tell))
    own = tries[0] if tries[0][0].own else None
    best = min(tries, key=lambda each: aim.share(each[1].last))
    result = _judged(aim, case.clips, own, best)
    numbers = {"first": best[1].first, "last": best[1].last, "steps": best[1].steps, "own": float(best[0].own)}
    numbers |= {"noise": aim.noise, "binding": float(aim.binding)}
    numbers["lr"] = float(best[0].optimizer.param_groups[0].get("lr", 0.0))
    return dataclasses.replace(result, numbers=numbers, curve=best[1].losses)


def aim_of(case: Case) -> Aim:
    loss = case.loss()
    value, guess = loss.item(), guess_for(loss)
    if guess is None or not math.isfinite(value):
        binding = value > 0 and not case.no_inputs
        return Aim(value if math.isfinite(value) else 1.0, False, _noise(case), binding)
    if _is_redrawn(case, loss):
        return Aim(value, False, math.inf, False)
    single = guess.targets == case.samples  # one target a sample
    sides = sides_of(loss) if single else None
    twins = sides is not None and _has_twins(case, sides[1])
    to_zero = guess.hard and single and not twins and guess.loss > 0
    noise = 0.0 if to_zero else _noise(case)
    limit = _NUMBERS_NOT_LEARNED if guess.kind == "numbers" else _NOT_LEARNED
    start = guess.loss if to_zero else value
    return Aim(start, to_zero, noise, limit=limit, frozen=_is_frozen(case), twins=twins)


def _noise(case: Case) -> float:
    """Other random numbers each time; a step that plays a game or samples has much of it."""
    with torch.no_grad():
        losses = [case.loss().item() for _ in range(_LOOKS)]
    return (max(losses) - min(losses)) / max(abs(sum(losses)) / _LOOKS, 1e-12)


def _is_redrawn(case: Case, loss: torch.Tensor) -> bool:
    """Whether the step's lines make new targets each time: there is no one batch to learn."""
    before, again = sides_of(loss), sides_of(case.loss())
    return before is not None and again is not None and not torch.equal(before[1], again[1])


def _is_frozen(case: Case) -> bool:
    learned = sum(each.numel() for each in case.parameters().values())
    return learned < 0.5 * sum(each.numel() for model in case.models.values() for each in model.parameters())


def _has_twins(case: Case, targets: torch.Tensor) -> bool:
    """Whether equal inputs have different targets."""
    count = case.samples
    rows = [each for each in tensors_in(case.call) if each.dim() and each.shape[0] == count]
    inputs = torch.cat([each.reshape(count, -1).double() for each in rows], 1)
    pairs = torch.cat([inputs, targets.reshape(count, 1).double()], 1)
    return len(torch.unique(inputs, dim=0)) < len(torch.unique(pairs, dim=0))


def _tries(case: Case, aim: Aim, tell: Tell) -> Iterator[tuple[Way, Fit]]:
    """With the case's own optimizer, then with others, until one has learned the batch."""
    for rate in (None, *_OTHER_RATES):
        with case.undone():
            way = own_way(case) if rate is None else other_way(case, rate)
            if way is None:
                continue
            found = fit(case, way.optimizer, enough=aim.reached, tell=tell)
            found = _without_dropout(case, found)
        yield way, found
        if aim.share(found.last) <= (_LEARNED if aim.to_zero else _HALF):
            return


def _without_dropout(case: Case, found: Fit) -> Fit:
    """What was learned, not what dropout leaves of it."""
    dropouts = [
        each for each in case.modules() if isinstance(each, nn.modules.dropout._DropoutNd) and each.training
    ]
    if not dropouts or found.enough or not math.isfinite(found.last):
        return found
    for each in dropouts:
        each.eval()
    with torch.no_grad():
        loss = case.loss().item()
    return Fit((*found.losses[:-1], min(loss, found.last)), found.in_time, enough=True)


def _judged(aim: Aim, clips: bool, own: tuple[Way, Fit] | None, best: tuple[Way, Fit]) -> TrialResult:
    told = _told(*best)
    if own is not None and own[0] is not best[0] and aim.share(best[1].last) < _HALF:
        trouble = "" if clips else _trouble(aim, own[1])
        if trouble and aim.binding and aim.noise <= NOISY:
            message = f"With {own[0].words} {trouble}; {told[0].lower()}{told[1:]}."
            return failed(NAME, message, "The model can learn this batch: change the learning rate first.")
    share = aim.share(best[1].last)
    if aim.to_zero and share < 0:
        return failed(NAME, f"{told}, and cannot be below 0 for probabilities.", NOT_LOGS)
    limit = aim.limit if aim.to_zero else 1.0 - _SLOW
    if share > limit or not math.isfinite(best[1].last):
        if not best[1].in_time:
            return untried(NAME, f"There was no time to tell: {told[0].lower()}{told[1:]}.")
        if aim.noise > NOISY or not aim.binding:
            return untried(NAME, f"{told}. This loss need not fall from step to step, so that says little.")
        if aim.frozen:
            return untried(NAME, f"{told}. Most of the model does not learn, so that says little.")
        if aim.twins:
            return untried(
                NAME, f"{told}. Equal inputs of this batch have different labels, so that says little."
            )
        return failed(NAME, f"{told}, and no further: one batch is not learned by heart.", _ADVICE)
    if not aim.to_zero and share > _HALF:
        return untried(NAME, f"{told}. How low this loss can go is not known, so that says little.")
    return passed(NAME, f"{told}.")


def _trouble(aim: Aim, own: Fit) -> str:
    if not math.isfinite(own.last):
        return f"the loss becomes {own.losses[-1]:g} after {steps(own.steps)}"
    if own.last > max(aim.start, own.first):
        return f"the loss rises from {own.first:.4g} to {own.last:.4g} in {steps(own.steps)}"
    fell = (own.first - own.last) / max(abs(own.first), 1e-12)
    if aim.share(own.last) > 1.0 - _SLOW and fell < _SLOW and own.in_time:
        return f"the loss stays at {own.last:.4g} (from {own.first:.4g}) for {steps(own.steps)}"
    return ""


def _told(way: Way, found: Fit) -> str:
    return f"With {way.words} the loss went from {found.first:.4g} to {found.last:.4g} in {steps(found.steps)}"


_ADVICE = (
    "Look first whether labels belong to their inputs, then at the loss (a softmax before cross-entropy, "
    "shapes that broadcast), then for parts that get no gradient, and only then at the size of the model."
)
