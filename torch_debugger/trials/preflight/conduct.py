"""All trials in their order, each from the same beginning."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight import batch_independence as independence
from torch_debugger.trials.preflight import (
    determinism,
    gpu,
    gradient_reach,
    initial_loss,
    input_use,
    memory,
    overfit,
    rate_range,
    shuffled_labels,
    two_modes,
    zero_input,
)
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Tell
from torch_debugger.trials.preflight.learned import Learned
from torch_debugger.trials.preflight.outcomes import untried

Trial = Callable[[], TrialResult]
Somewhere = Callable[[str, Trial], TrialResult]  # how a trial of this name is run: here, or in a fork


@dataclass(frozen=True)
class Trials:
    """What is tried of a case."""

    case: Case
    tell: Tell = lambda step, loss: None

    def results(self, run: Somewhere) -> Iterator[TrialResult]:
        done: dict[str, TrialResult] = {}
        for name, trial in self._cheap():
            yield run(name, functools.partial(self._tried, name, trial))
        for name, make in self._trained():
            trial = make(Learned.from_result(done.get(overfit.NAME)))
            done[name] = run(name, functools.partial(self._tried, name, trial))
            yield done[name]

    def _cheap(self) -> list[tuple[str, Trial]]:
        case = self.case
        return [
            (initial_loss.NAME, lambda: initial_loss.try_initial_loss(case)),
            (gradient_reach.NAME, lambda: gradient_reach.try_gradients(case)),
            (input_use.NAME, lambda: input_use.try_input_use(case)),
            (independence.NAME, lambda: independence.try_batch_independence(case)),
            (determinism.NAME, lambda: determinism.try_determinism(case)),
        ]

    def _trained(self) -> list[tuple[str, Callable[[Learned], Trial]]]:
        case, tell = self.case, self.tell
        return [
            (overfit.NAME, lambda _: lambda: overfit.try_overfit(case, tell)),
            (zero_input.NAME, lambda how: lambda: zero_input.try_zero_input(case, how, tell)),
            (shuffled_labels.NAME, lambda how: lambda: shuffled_labels.try_shuffled_labels(case, how, tell)),
            (two_modes.NAME, lambda how: lambda: two_modes.try_two_modes(case, how, tell)),
            (rate_range.NAME, lambda how: lambda: rate_range.try_rate_range(case, how, tell)),
            (gpu.NAME, lambda _: lambda: gpu.try_gpu(case)),
            (memory.NAME, lambda _: lambda: memory.try_memory(case)),
        ]

    def _tried(self, name: str, trial: Trial) -> TrialResult:
        try:
            with self.case.undone():
                return trial()
        except NotPossibleError as reason:
            return untried(name, str(reason))
        except Exception as error:  # the user's own code runs in a trial, and may raise anything
            return untried(name, f"{type(error).__name__} came up in it: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return f"{text.splitlines()[0].rstrip('.')[:200]}." if text else "without a word."
