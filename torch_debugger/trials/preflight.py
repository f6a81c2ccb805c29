"""All trials in their order, each from the same beginning."""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch

from torch_debugger.model.forks import ForkedTask
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.step_memory import TooLongError, measure_step
from torch_debugger.records import CaseFact, Place, TrialResult
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.units import bytes_text
from torch_debugger.system.clocks import time
from torch_debugger.trials.gpu_rehearsal import rehearse
from torch_debugger.trials.preflight_case import Case, NotPossibleError, failed, passed, untried
from torch_debugger.trials.preflight_data import (
    INPUT_USE_NAME,
    SHUFFLED_LABELS_NAME,
    ZERO_INPUT_NAME,
    try_input_use,
    try_shuffled_labels,
    try_zero_input,
)
from torch_debugger.trials.preflight_gradients import (
    BATCH_INDEPENDENCE_NAME,
    GRADIENT_REACH_NAME,
    try_batch_independence,
    try_gradients,
)
from torch_debugger.trials.preflight_loss import INITIAL_LOSS_NAME, try_initial_loss
from torch_debugger.trials.preflight_training import (
    OVERFIT_NAME,
    RATE_RANGE_NAME,
    TWO_MODES_NAME,
    Learned,
    Tell,
    any_way,
    describe_optimizer,
    fit,
    try_overfit,
    try_rate_range,
    try_two_modes,
)

Trial = Callable[[], TrialResult]
Somewhere = Callable[[str, Trial], TrialResult]  # how a trial of this name is run: here, or in a fork


@dataclass(frozen=True)
class Trials:
    """What is tried of a case."""

    case: Case
    tell: Tell = lambda step, loss: None

    def results(self, run: Somewhere) -> Iterator[TrialResult]:
        learned = Learned.from_result(None)
        for name, trial in _TRIALS:
            trial_here = functools.partial(trial, self.case, learned, self.tell)
            result = run(name, functools.partial(self._tried, name, trial_here))
            if name == OVERFIT_NAME:
                learned = Learned.from_result(result)
            yield result

    def _tried(self, name: str, trial: Trial) -> TrialResult:
        try:
            with self.case.undone():
                return trial()
        except NotPossibleError as reason:
            return untried(name, str(reason))
        except Exception as error:  # the user's own code runs in a trial, and may raise anything
            text = str(error).strip()
            line = f"{text.splitlines()[0].rstrip('.')[:200]}." if text else "without a word."
            return untried(name, f"{type(error).__name__} came up in it: {line}")


# Trials in forks of the script's process: what they train, print or break is lost with the fork.
_TIME_LIMIT_S = 90.0


def text_apart(task: Callable[[], str]) -> str:
    return _ended(task)[0]


def trial_apart(name: str, trial: Trial) -> TrialResult:
    text, ended = _ended(lambda: json.dumps(to_plain(trial())))
    record = from_plain("TrialResult", json.loads(text)) if text else None
    if isinstance(record, TrialResult):
        return record
    reason = f"It took more than {_TIME_LIMIT_S:g} s" if ended == "timeout" else "The process of the trial died"
    return untried(name, f"{reason}.")


def _ended(task: Callable[[], str]) -> tuple[str, str]:
    def eagerly() -> str:
        torch.compiler.set_stance("force_eager")
        return task()

    forked = ForkedTask(eagerly, _TIME_LIMIT_S, urgent=True)
    text = forked.wait().decode()
    return (text if forked.ended == "done" else ""), forked.ended or ""


_SHOWN = 4


def describe_case(case: Case, loss: float, place: Place | None = None) -> CaseFact:
    inputs = [f"{str(each.dtype).removeprefix('torch.')} {list(each.shape)}" for each in tensors_in(case.call)]
    more = f" and {len(inputs) - _SHOWN} more" if len(inputs) > _SHOWN else ""
    return CaseFact(
        model=" and ".join(case.models),
        parameters=sum(each.numel() for each in case.parameters().values()),
        inputs=", ".join(inputs[:_SHOWN]) + more,
        optimizer=describe_optimizer(case.optimizer) if case.optimizer is not None else "",
        loss=loss,
        place=place or Place(),
    )


GPU_NAME = "GPU rehearsal"

_GPU_TIME_LIMIT_S = 60.0  # nobody's training waits for it


def try_gpu(case: Case) -> TrialResult:
    devices = {each.device.type for each in [*case.parameters().values(), *tensors_in(case.call)]}
    if devices - {"cpu"}:
        raise NotPossibleError(f"Not needed: the model runs on {' and '.join(sorted(devices))}.")
    name, model = next(iter(case.models.items()))
    found = rehearse(model, name, *case.call, timeout_s=_GPU_TIME_LIMIT_S, step=1)
    if found.outcome == "passed":
        return passed(GPU_NAME, f"The forward of `{name}` meets tensors of one device only.")
    if found.outcome != "mismatch":
        reason = found.error.splitlines()[0].rstrip(".") if found.error else "?"
        raise NotPossibleError(f"It cannot be rehearsed: {reason}.")
    message = (
        f"On a GPU the forward of `{found.root}` would stop at {_line(found.place)}: tensors of "
        f"{' and '.join(found.devices) or 'two devices'} meet"
        f"{f', made at {_line(found.origin)}' if found.origin.file else ''}."
    )
    if not case.on_gpu:
        raise NotPossibleError(f"The script names no GPU. {message}")
    return failed(GPU_NAME, message, "Make it where the input is: `device=x.device`, or register it as a buffer.")


def _line(place: Place) -> str:
    code = f" (`{place.code}`)" if place.code else ""
    return f"{os.path.basename(place.file or '?')}:{place.line}{code}"


# How much memory a training step would take on a GPU, worked out without one.
MEMORY_NAME = "peak memory"

_MEMORY_TIME_LIMIT_S = 10.0


def try_memory(case: Case) -> TrialResult:
    if len(case.models) > 1:
        raise NotPossibleError("It is worked out for one model, and this step trains several.")
    module = next(iter(case.models.values()))
    weights = _bytes([*module.parameters(), *module.buffers()])
    gradients, batch = _bytes(case.parameters().values()), _bytes(tensors_in(case.call))
    try:
        step = measure_step(module, *case.call, deadline=time.monotonic() + _MEMORY_TIME_LIMIT_S).peak_bytes
    except TooLongError:
        raise NotPossibleError(f"It takes longer than {_MEMORY_TIME_LIMIT_S:g} s to work out.") from None
    except Exception as error:  # a forward that needs values cannot be measured
        raise NotPossibleError(f"The forward needs numbers, not shapes alone ({type(error).__name__}).") from None
    optimizer, state, unknown = any_way(case).optimizer, 0, ""
    try:
        fit(case, optimizer, steps=1)
        state = _bytes(tensor for each in optimizer.state.values() for tensor in tensors_in(each))
    except NotPossibleError:
        unknown = ", and what the optimizer keeps"
    # gradients are counted by the step, which makes them
    parts = {"weights": weights, "optimizer": state, "batch": batch, "step": max(step, gradients)}
    peak = sum(parts.values())
    said = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items() if size) + unknown
    return passed(MEMORY_NAME, f"A step would take {bytes_text(peak)} at its peak: {said}.", peak_bytes=peak, **parts)


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    once = {id(each): each.numel() * each.element_size() for each in tensors}
    return sum(once.values())


DETERMINISM_NAME = "determinism"

_DETERMINISM_STEPS = 3
_SUMMED_OTHERWISE = 1e-4  # of the loss; a GPU may add up in any order


def try_determinism(case: Case) -> TrialResult:
    # from the random state as it is, which is left as it was
    one, two = _losses(case), _losses(case)
    differing = [
        at
        for at, pair in enumerate(zip(one, two, strict=False))
        if any(map(math.isfinite, pair)) and not abs(pair[0] - pair[1]) <= _SUMMED_OTHERWISE * max(map(abs, pair))
    ]
    if differing or len(one) != len(two):
        at = differing[0] if differing else min(len(one), len(two)) - 1
        return failed(
            DETERMINISM_NAME,
            f"Two runs from one seed differ: after {at} steps the losses are {one[at]:.6g} and {two[at]:.6g}.",
            "Something draws from a source that no seed reaches (a generator made in `forward`, the clock, "
            "os.urandom) or keeps a state from call to call that is not a buffer.",
            steps=at,
        )
    exact = "bit for bit" if repr(one) == repr(two) else "but for sums that come in another order"
    return passed(DETERMINISM_NAME, f"Two runs of {_DETERMINISM_STEPS} steps from one seed agree {exact}.")


def _losses(case: Case) -> tuple[float, ...]:
    with case.undone():
        return fit(case, any_way(case).optimizer, steps=_DETERMINISM_STEPS).losses


# In their order; the later ones train, in the way that overfitting the batch has shown to work.
_TRIALS: tuple[tuple[str, Callable[[Case, Learned, Tell], TrialResult]], ...] = (
    (INITIAL_LOSS_NAME, lambda case, learned, tell: try_initial_loss(case)),
    (GRADIENT_REACH_NAME, lambda case, learned, tell: try_gradients(case)),
    (INPUT_USE_NAME, lambda case, learned, tell: try_input_use(case)),
    (BATCH_INDEPENDENCE_NAME, lambda case, learned, tell: try_batch_independence(case)),
    (DETERMINISM_NAME, lambda case, learned, tell: try_determinism(case)),
    (OVERFIT_NAME, lambda case, learned, tell: try_overfit(case, tell)),
    (ZERO_INPUT_NAME, try_zero_input),
    (SHUFFLED_LABELS_NAME, try_shuffled_labels),
    (TWO_MODES_NAME, try_two_modes),
    (RATE_RANGE_NAME, try_rate_range),
    (GPU_NAME, lambda case, learned, tell: try_gpu(case)),
    (MEMORY_NAME, lambda case, learned, tell: try_memory(case)),
)
