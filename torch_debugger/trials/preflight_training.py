"""Can the model learn one batch by heart? One that cannot will not learn many either."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import LBFGS, Adam, Optimizer

from torch_debugger.records import TrialResult
from torch_debugger.system.clocks import time
from torch_debugger.trials.preflight_case import Call, Case, NotPossibleError, failed, optimized, passed, steps, untried
from torch_debugger.trials.preflight_loss import NOT_LOGS, guess_for, sides_of

OVERFIT_NAME = "overfit one batch"

_LEARNED = 0.1  # of the first loss: by heart, no need to go on
_NOT_LEARNED = 0.4  # of it, where every sample has one answer
_NUMBERS_NOT_LEARNED = 0.8  # the same for numbers, which are learned slowly to the last digit
_FEWEST_STEPS = 10  # also for a model that knows the batch already
_SLOW, _HALF = 0.01, 0.5  # shares that the loss fell by
_LOOKS = 5  # at the noise
_OTHER_RATES = (1e-3, 1e-2)


@dataclass(frozen=True)
class LossGoal:
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


def aim_of(case: Case) -> LossGoal:
    loss = case.loss()
    value, guess = loss.item(), guess_for(loss)
    if guess is None or not math.isfinite(value):
        binding = value > 0 and not case.no_inputs
        return LossGoal(value if math.isfinite(value) else 1.0, False, _noise(case), binding)
    sides, again = sides_of(loss), sides_of(case.loss())
    if sides is not None and again is not None and not torch.equal(sides[1], again[1]):
        return LossGoal(
            value, False, math.inf, False
        )  # the step makes new targets each time: there is no batch to learn
    single = guess.targets == case.samples  # one target a sample
    ambiguous = False
    if single and sides is not None:
        rows = [each.reshape(case.samples, -1).double() for each in case.rows(case.call)]
        pairs = torch.cat([*rows, sides[1].reshape(case.samples, 1).double()], 1)
        ambiguous = len(torch.unique(torch.cat(rows, 1), dim=0)) < len(torch.unique(pairs, dim=0))
    to_zero = guess.hard and single and not ambiguous and guess.loss > 0
    noise = 0.0 if to_zero else _noise(case)
    limit = _NUMBERS_NOT_LEARNED if guess.kind == "numbers" else _NOT_LEARNED
    start = guess.loss if to_zero else value
    learned = sum(each.numel() for each in case.parameters().values())
    frozen = learned < 0.5 * sum(each.numel() for model in case.models.values() for each in model.parameters())
    return LossGoal(start, to_zero, noise, limit=limit, frozen=frozen, twins=ambiguous)


def _noise(case: Case) -> float:
    """Other random numbers each time; a step that plays a game or samples has much of it."""
    with torch.no_grad():
        losses = [case.loss().item() for _ in range(_LOOKS)]
    return (max(losses) - min(losses)) / max(abs(sum(losses)) / _LOOKS, 1e-12)


def _tries(case: Case, aim: LossGoal, tell: Tell) -> Iterator[tuple[TrainingWay, TrainingFit]]:
    """With the case's own optimizer, then with others, until one has learned the batch."""
    for rate in (None, *_OTHER_RATES):
        with case.undone():
            way = own_way(case) if rate is None else other_way(case, rate)
            if way is None:
                continue
            found = fit(case, way.optimizer, enough=aim.reached, tell=tell)
            dropouts = [
                each for each in case.modules() if isinstance(each, nn.modules.dropout._DropoutNd) and each.training
            ]
            if dropouts and not found.enough and math.isfinite(found.last):
                # what was learned counts, not what dropout leaves of it
                for each in dropouts:
                    each.eval()
                with torch.no_grad():
                    loss = case.loss().item()
                found = TrainingFit((*found.losses[:-1], min(loss, found.last)), found.in_time, enough=True)
        yield way, found
        if aim.share(found.last) <= (_LEARNED if aim.to_zero else _HALF):
            return


def _judged(
    aim: LossGoal, clips: bool, own: tuple[TrainingWay, TrainingFit] | None, best: tuple[TrainingWay, TrainingFit]
) -> TrialResult:
    way, found = best
    said = f"With {way.words} the loss went from {found.first:.4g} to {found.last:.4g} in {steps(found.steps)}"
    in_sentence = f"{said[0].lower()}{said[1:]}"
    share = aim.share(found.last)
    if own is not None and own[0] is not way and share < _HALF:
        trouble = "" if clips else _trouble(aim, own[1])
        if trouble and aim.binding and aim.noise <= NOISY:
            message = f"With {own[0].words} {trouble}; {in_sentence}."
            return failed(OVERFIT_NAME, message, "The model can learn this batch: change the learning rate first.")
    if aim.to_zero and share < 0:
        return failed(OVERFIT_NAME, f"{said}, and cannot be below 0 for probabilities.", NOT_LOGS)
    limit = aim.limit if aim.to_zero else 1.0 - _SLOW
    if share > limit or not math.isfinite(found.last):
        if not found.in_time:
            return untried(OVERFIT_NAME, f"There was no time to tell: {in_sentence}.")
        if aim.noise > NOISY or not aim.binding:
            doubt = "This loss need not fall from step to step"
        elif aim.frozen:
            doubt = "Most of the model does not learn"
        elif aim.twins:
            doubt = "Equal inputs of this batch have different labels"
        else:
            return failed(
                OVERFIT_NAME,
                f"{said}, and no further: one batch is not learned by heart.",
                "Look first whether labels belong to their inputs, then at the loss (a softmax before cross-entropy, "
                "shapes that broadcast), then for parts that get no gradient, and only then at the size of the model.",
            )
        return untried(OVERFIT_NAME, f"{said}. {doubt}, so that says little.")
    if not aim.to_zero and share > _HALF:
        return untried(OVERFIT_NAME, f"{said}. How low this loss can go is not known, so that says little.")
    return passed(OVERFIT_NAME, f"{said}.")


def _trouble(aim: LossGoal, own: TrainingFit) -> str:
    if not math.isfinite(own.last):
        return f"the loss becomes {own.losses[-1]:g} after {steps(own.steps)}"
    if own.last > max(aim.start, own.first):
        return f"the loss rises from {own.first:.4g} to {own.last:.4g} in {steps(own.steps)}"
    fell = (own.first - own.last) / max(abs(own.first), 1e-12)
    if aim.share(own.last) > 1.0 - _SLOW and fell < _SLOW and own.in_time:
        return f"the loss stays at {own.last:.4g} (from {own.first:.4g}) for {steps(own.steps)}"
    return ""


# The learning rate raised step by step: where learning begins, and where it falls apart.
RATE_RANGE_NAME = "learning-rate range"

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
    smooth = [losses[0]]
    for loss in losses[1:]:
        smooth.append(_MEMORY * smooth[-1] + (1 - _MEMORY) * loss)
    if min(smooth) > 0.98 * smooth[0]:
        raise NotPossibleError(f"No rate from {LOWEST:g} to {HIGHEST:g} makes the loss fall from {smooth[0]:.4g}.")
    # from where the loss has begun to fall to a third of the rate where it is lowest
    lowest = min(range(len(smooth)), key=smooth.__getitem__)
    fallen = smooth[0] - 0.05 * (smooth[0] - smooth[lowest])
    begun = next(at for at, loss in enumerate(smooth) if loss <= fallen)
    high = rates[lowest] / 3
    low = min(rates[begun], high / 3)

    with case.undone():
        way = own_way(case)
        assert way is not None
        found = fit(case, way.optimizer, steps=_CONFIRMING)
    first, last = found.first, found.last
    side = ""
    if learned.binding and not case.clips and own > high and not last < _RISEN * abs(first):
        side = "above"
    elif learned.binding and own < _FAR_BELOW * low and abs(first - last) < 0.001 * abs(first):
        side = "far below"
    range_ = f"from {low:.1g} to {high:.1g}"
    if side:
        result = failed(
            RATE_RANGE_NAME,
            f"The rate is {own:g}, {side} those that work {range_}: in {_CONFIRMING} steps the loss goes from "
            f"{first:.4g} to {last:.4g}.",
            f"Begin with a rate near {high / 3:.1g}.",
        )
    else:
        result = passed(RATE_RANGE_NAME, f"The loss of this batch falls with rates {range_}; the rate is {own:g}.")
    numbers = {"lr": own, "low": low, "high": high}
    return dataclasses.replace(result, curve=tuple(losses), rates=tuple(rates), numbers=numbers)


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


# The trained model on its batch in train and in eval mode: what it has learned must be there in both.
TWO_MODES_NAME = "train/eval consistency"

_TWO_MODES_STEPS = 100
_KEPT = 0.5  # of what the loss fell by in training
_MOST_FORWARDS = 400


def try_two_modes(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    if not any(module.training for module in case.models.values()):
        raise NotPossibleError("The model is in eval mode already.")
    learned.require_calm()
    steps = min(max(learned.steps, 20), _TWO_MODES_STEPS)
    found = fit(case, learned.way(case).optimizer, steps=steps, tell=tell)
    if not found.last < 0.95 * found.first:
        raise NotPossibleError("The model does not learn this batch, so there is nothing that eval mode could lose.")
    norms = [each for each in case.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm)]
    # Running statistics follow the weights with a delay: until they have forgotten nearly all of their start.
    momenta = [each.momentum for each in norms if each.momentum]
    with torch.no_grad():
        for _ in range(min(_MOST_FORWARDS, math.ceil(4 / min(momenta))) if momenta else 1):
            training = case.loss().item()
        with case.evaluating():
            evaluated = case.loss().item()
    numbers = {"train": training, "eval": evaluated}
    said = f"After {steps} steps the batch's loss is {training:.4g} in train and {evaluated:.4g} in eval mode"
    kept = (found.first - evaluated) / (found.first - min(training, found.last))
    if math.isfinite(evaluated) and not kept < _KEPT:
        return passed(TWO_MODES_NAME, f"{said}.", **numbers)
    advice = "Look in `forward` for what asks `self.training`, and for dropout that is too high or applied by hand."
    if norms:
        advice = (
            "BatchNorm uses its running statistics in eval mode, and they do not fit the data: look at its "
            "momentum, and for batches that differ from each other; GroupNorm or LayerNorm need no statistics."
        )
    return failed(TWO_MODES_NAME, f"{said}, from {found.first:.4g} at the start.", advice, **numbers)


# What overfitting one batch has shown: how this model is best trained, for the trials after it.
NOISY = 0.3  # from here on a loss changes by chance


@dataclass(frozen=True)
class Learned:
    own: bool  # by the case's own optimizer
    rate: float
    steps: int
    passed: bool
    noise: float = 0.0  # of the loss, beside its size
    binding: bool = True  # the loss is meant to fall

    @staticmethod
    def from_result(result: TrialResult | None) -> Learned:
        """Without a result, as anything would be trained."""
        if result is None or not result.numbers:
            return Learned(False, 1e-3, 100, False)
        numbers = result.numbers
        return Learned(
            own=bool(numbers["own"]),
            rate=numbers["lr"],
            steps=int(numbers["steps"]),
            passed=result.outcome == "passed",
            noise=numbers["noise"],
            binding=bool(numbers["binding"]),
        )

    def require_calm(self) -> None:
        if self.noise > NOISY:
            raise NotPossibleError("The loss changes by chance from step to step, so that nothing can be compared.")

    def way(self, case: Case) -> TrainingWay:
        own = own_way(case) if self.own else None
        return own or other_way(case, self.rate)

    def fit(self, case: Case, *, call: Call | None, steps: int, tell: Tell) -> TrainingFit:
        """From the case as it is, which is left as it was."""
        with case.undone():
            return fit(case, self.way(case).optimizer, call=call, steps=steps, tell=tell)


Tell = Callable[[int, float], None]  # the step and its loss

_FITTING_STEPS = 300
_BUSY_S, _LONGEST_S = 10.0, 60.0  # of the training itself; with what other processes take, at most


@dataclass(frozen=True)
class TrainingWay:
    """How to train: the case's own optimizer, or one of ours."""

    optimizer: Optimizer
    words: str  # SGD, lr 0.1
    own: bool


@dataclass(frozen=True)
class TrainingFit:
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
    steps: int = _FITTING_STEPS,
    enough: Callable[[int, float], bool] = lambda step, loss: False,
    before: Callable[[int], None] = lambda step: None,
    tell: Tell = lambda step, loss: None,
) -> TrainingFit:
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
            return TrainingFit(tuple(losses), not late, done)
    return TrainingFit(tuple(losses))


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


def own_way(case: Case) -> TrainingWay | None:
    """As the script has it; where a schedule starts from a low rate, with the rate that it leads to."""
    optimizer = case.optimizer
    if not case.parameters():
        raise NotPossibleError("No parameter of the model learns.")
    if optimizer is None:
        return None
    for group in optimizer.param_groups:
        group["lr"] = max(group["lr"], group.get("initial_lr", 0.0))
    return TrainingWay(optimizer, describe_optimizer(optimizer), own=True)


def other_way(case: Case, rate: float) -> TrainingWay:
    chosen = [each for each in optimized(case.optimizer) if each.requires_grad]
    return TrainingWay(Adam(chosen or list(case.parameters().values()), lr=rate), f"Adam, lr {rate:g}", own=False)


def any_way(case: Case) -> TrainingWay:
    return own_way(case) or other_way(case, 1e-3)


def describe_optimizer(optimizer: Optimizer) -> str:
    """AdamW, lr 0.001"""
    rates = sorted({float(group["lr"]) for group in optimizer.param_groups if "lr" in group})
    shown = " to ".join(f"{rate:g}" for rate in dict.fromkeys((rates[0], rates[-1]))) if rates else ""
    return type(optimizer).__name__ + (f", lr {shown}" if shown else "")
