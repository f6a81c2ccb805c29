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
from torch_debugger.trials.preflight.guessing import guess_for
from torch_debugger.trials.preflight.outcomes import failed, passed, untried

NAME = "overfit one batch"

_LEARNED = 0.1  # of the first loss: by heart, no need to go on
_NOT_LEARNED = 0.4  # of it, where every sample has one answer
_SLOW, _HALF = 0.01, 0.5  # shares that the loss fell by
_OTHER_RATES = (1e-3, 1e-2)


@dataclass(frozen=True)
class Aim:
    """Where the loss starts, and whether it is known how low it can go: to zero."""

    start: float
    to_zero: bool
    twins: bool = False  # equal inputs may have different answers, which nobody can learn by heart

    def share(self, loss: float) -> float:
        """1 at the start, 0 for the best there is; of other losses, below zero too."""
        return loss / self.start if self.to_zero else 1.0 - (self.start - loss) / max(abs(self.start), 1e-3)


def try_overfit(case: Case, tell: Tell) -> TrialResult:
    aim = aim_of(case)
    tries = list(_tries(case, aim, tell))
    own = tries[0] if tries[0][0].own else None
    best = min(tries, key=lambda each: aim.share(each[1].last))
    result = _judged(aim, own, best)
    numbers = {"first": best[1].first, "last": best[1].last, "steps": best[1].steps, "own": float(best[0].own)}
    numbers["lr"] = float(best[0].optimizer.param_groups[0].get("lr", 0.0))
    return dataclasses.replace(result, numbers=numbers, curve=best[1].losses)


def aim_of(case: Case) -> Aim:
    loss = case.loss()
    value, guess = float(loss), guess_for(loss)
    if guess is None or not math.isfinite(value):
        return Aim(value if math.isfinite(value) else 1.0, False)
    twins = _has_twins(case)
    to_zero = guess.hard and guess.targets == case.samples and not twins and guess.loss > 0
    return Aim(min(value, guess.loss) if to_zero else value, to_zero, twins)


def _has_twins(case: Case) -> bool:
    count = case.samples
    rows = [
        each.reshape(count, -1).double()
        for each in tensors_in(case.call)
        if each.dim() and each.shape[0] == count
    ]
    return bool(rows) and len(torch.unique(torch.cat(rows, 1), dim=0)) < count


def _tries(case: Case, aim: Aim, tell: Tell) -> Iterator[tuple[Way, Fit]]:
    """With the case's own optimizer, then with others, until one has learned the batch."""
    for rate in (None, *_OTHER_RATES):
        with case.undone():
            way = own_way(case) if rate is None else other_way(case, rate)
            if way is None:
                continue
            found = fit(case, way.optimizer, enough=lambda loss: aim.share(loss) < _LEARNED, tell=tell)
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
        loss = float(case.loss())
    return Fit((*found.losses[:-1], min(loss, found.last)), found.in_time, enough=True)


def _judged(aim: Aim, own: tuple[Way, Fit] | None, best: tuple[Way, Fit]) -> TrialResult:
    told = _told(*best)
    if own is not None and own[0] is not best[0] and aim.share(best[1].last) < _HALF:
        trouble = _trouble(aim, own[1])
        if trouble:
            message = f"With {own[0].words} {trouble}; {told[0].lower()}{told[1:]}."
            return failed(NAME, message, "The model can learn this batch: change the learning rate first.")
    share = aim.share(best[1].last)
    limit = _NOT_LEARNED if aim.to_zero else 1.0 - _SLOW
    if share > limit or not math.isfinite(best[1].last):
        if not best[1].in_time:
            return untried(NAME, f"There was no time to tell: {told[0].lower()}{told[1:]}.")
        if aim.twins:
            return untried(NAME, f"{told}. Some inputs of the batch are equal, so that says little.")
        return failed(NAME, f"{told}, and no further: one batch is not learned by heart.", _ADVICE)
    if not aim.to_zero and share > _HALF:
        return untried(NAME, f"{told}. How low this loss can go is not known, so that says little.")
    return passed(NAME, f"{told}.")


def _trouble(aim: Aim, own: Fit) -> str:
    if not math.isfinite(own.last):
        return f"the loss becomes {own.losses[-1]:g} after {own.steps} steps"
    if own.last > max(aim.start, own.first):
        return f"the loss rises from {own.first:.4g} to {own.last:.4g} in {own.steps} steps"
    if aim.share(own.last) > 1.0 - _SLOW and own.in_time:
        return f"the loss stays at {own.last:.4g} (from {own.first:.4g}) for {own.steps} steps"
    return ""


def _told(way: Way, found: Fit) -> str:
    return f"With {way.words} the loss went from {found.first:.4g} to {found.last:.4g} in {found.steps} steps"


_ADVICE = (
    "Look first whether labels belong to their inputs, then at the loss (a softmax before cross-entropy, "
    "shapes that broadcast), then for parts that get no gradient, and only then at the size of the model."
)
