"""The learning rate raised step by step: where learning begins, and where it falls apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from torch.optim import LBFGS, Optimizer

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Tell, fit, own_way
from torch_debugger.trials.preflight.learned import Learned
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "learning-rate range"

LOWEST, HIGHEST = 1e-6, 10.0
_STEPS = 120
_MEMORY = 0.8  # of the smoothed loss
_FAR_BELOW = 1e-3  # of the lower end
_CONFIRMING = 20  # steps with the rate itself
_RISEN = 1.1


def try_rate_range(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    learned.require_calm()
    way = own_way(case)
    if way is None or isinstance(way.optimizer, LBFGS):
        raise NotPossibleError("There is no optimizer with a learning rate to change.")
    own = max(float(group["lr"]) for group in way.optimizer.param_groups)
    rates, losses = _sweep(case, way.optimizer, own, tell)
    smooth = _smoothed(losses)
    if min(smooth) > 0.98 * smooth[0]:
        raise NotPossibleError(
            f"No rate from {LOWEST:g} to {HIGHEST:g} makes the loss fall from {smooth[0]:.4g}."
        )
    low, high = suggest(rates, smooth)
    result = dataclasses.replace(
        _judged(case, learned, own, low, high), curve=tuple(losses), rates=tuple(rates)
    )
    return dataclasses.replace(result, numbers={"lr": own, "low": low, "high": high})


def _sweep(case: Case, optimizer: Optimizer, own: float, tell: Tell) -> tuple[list[float], list[float]]:
    rates: list[float] = []
    shares = [float(group["lr"]) / own if own else 1.0 for group in optimizer.param_groups]

    def raise_rate(step: int) -> None:
        rates.append(LOWEST * (HIGHEST / LOWEST) ** (step / _STEPS))
        for group, share in zip(optimizer.param_groups, shares, strict=True):
            group["lr"] = rates[-1] * share

    def lost(step: int, loss: float) -> bool:
        first.append(loss)
        return loss > 4 * abs(first[0]) + 1.0

    first: list[float] = []
    with case.undone():
        losses = fit(case, optimizer, steps=_STEPS, enough=lost, before=raise_rate, tell=tell).losses
    finite = [value for value in losses if math.isfinite(value)]
    return rates[: len(finite)], finite


def _smoothed(losses: Sequence[float]) -> list[float]:
    smooth = [losses[0]]
    for loss in losses[1:]:
        smooth.append(_MEMORY * smooth[-1] + (1 - _MEMORY) * loss)
    return smooth


def suggest(rates: Sequence[float], smooth: Sequence[float]) -> tuple[float, float]:
    """From where the loss has begun to fall to a third of the rate where it is lowest."""
    lowest = min(range(len(smooth)), key=smooth.__getitem__)
    fallen = smooth[0] - 0.05 * (smooth[0] - smooth[lowest])
    begun = next(at for at, loss in enumerate(smooth) if loss <= fallen)
    high = rates[lowest] / 3
    return min(rates[begun], high / 3), high


def _judged(case: Case, learned: Learned, own: float, low: float, high: float) -> TrialResult:
    range_ = f"from {low:.1g} to {high:.1g}"
    first, last = _with_own_rate(case)
    if learned.binding and not case.clips and own > high and not last < _RISEN * abs(first):
        return failed(
            NAME,
            f"The rate is {own:g}, above those that work {range_}: in {_CONFIRMING} steps the loss goes from "
            f"{first:.4g} to {last:.4g}.",
            f"Begin with a rate near {high / 3:.1g}.",
        )
    if learned.binding and own < _FAR_BELOW * low and abs(first - last) < 0.001 * abs(first):
        return failed(
            NAME,
            f"The rate is {own:g}, far below those that work {range_}: in {_CONFIRMING} steps the loss goes "
            f"from {first:.4g} to {last:.4g}.",
            f"Begin with a rate near {high / 3:.1g}.",
        )
    return passed(NAME, f"The loss of this batch falls with rates {range_}; the rate is {own:g}.")


def _with_own_rate(case: Case) -> tuple[float, float]:
    with case.undone():
        way = own_way(case)
        assert way is not None
        found = fit(case, way.optimizer, steps=_CONFIRMING)
    return found.first, found.last
