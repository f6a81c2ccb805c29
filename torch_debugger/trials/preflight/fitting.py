"""A model trained on its one batch for a while."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.optim import LBFGS, Adam, Optimizer

from torch_debugger.clocks import time
from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError, optimized

Tell = Callable[[int, float], None]  # the step and its loss

_STEPS = 300
_BUSY_S, _LONGEST_S = 10.0, 60.0  # of the training itself; with what other processes take, at most


@dataclass(frozen=True)
class Way:
    """How to train: the case's own optimizer, or one of ours."""

    optimizer: Optimizer
    words: str  # SGD, lr 0.1
    own: bool


@dataclass(frozen=True)
class Fit:
    losses: tuple[float, ...]
    in_time: bool = True  # there was time for all steps
    enough: bool = False  # the last loss was what was wanted

    @property
    def first(self) -> float:
        return self.losses[0]

    @property
    def last(self) -> float:
        """Of the last few, the middle one; a loss that is not finite is worse than any."""
        if self.enough:
            return self.losses[-1]
        end = sorted(value if math.isfinite(value) else math.inf for value in self.losses[-5:])
        return end[len(end) // 2]

    @property
    def steps(self) -> int:
        return len(self.losses) - 1


def fit(
    case: Case,
    optimizer: Optimizer,
    *,
    call: Call | None = None,
    steps: int = _STEPS,
    enough: Callable[[int, float], bool] = lambda step, loss: False,
    before: Callable[[int], None] = lambda step: None,
    tell: Tell = lambda step, loss: None,
) -> Fit:
    """The losses, from the first one to that after the last step; ends early where one is enough or NaN."""
    losses: list[float] = []
    busy_s, wall_s = time.thread_time(), time.monotonic()
    for step in range(steps + 1):
        before(step)
        loss = _step(case, optimizer, call, last=step == steps)
        losses.append(loss)
        tell(step, loss)
        late = time.thread_time() - busy_s > _BUSY_S or time.monotonic() - wall_s > _LONGEST_S
        done = enough(step, loss)
        if not math.isfinite(loss) or done or late:
            return Fit(tuple(losses), not late, done)
    return Fit(tuple(losses))


def _step(case: Case, optimizer: Optimizer, call: Call | None, *, last: bool) -> float:
    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = case.loss(call)
        case.backward(loss)
        return loss

    if isinstance(optimizer, LBFGS) and not last:
        return float(optimizer.step(closure).item())  # type: ignore[no-untyped-call]
    loss = closure()
    if not last:
        optimizer.step()
    return loss.item()


def own_way(case: Case) -> Way | None:
    """As the script has it; where a schedule starts from a low rate, with the rate that it leads to."""
    optimizer = case.optimizer
    if not case.parameters():
        raise NotPossibleError("No parameter of the model learns.")
    if optimizer is None:
        return None
    for group in optimizer.param_groups:
        group["lr"] = max(group["lr"], group.get("initial_lr", 0.0))
    return Way(optimizer, describe(optimizer), own=True)


def other_way(case: Case, rate: float) -> Way:
    return Way(Adam(_learned(case), lr=rate), f"Adam, lr {rate:g}", own=False)


def _learned(case: Case) -> list[torch.Tensor]:
    held = optimized(case.optimizer) if case.optimizer is not None else []
    return [each for each in held if each.requires_grad] or list(case.parameters().values())


def describe(optimizer: Optimizer) -> str:
    """AdamW, lr 0.001"""
    rates = sorted({float(group["lr"]) for group in optimizer.param_groups if "lr" in group})
    shown = " to ".join(f"{rate:g}" for rate in dict.fromkeys((rates[0], rates[-1]))) if rates else ""
    return type(optimizer).__name__ + (f", lr {shown}" if shown else "")
