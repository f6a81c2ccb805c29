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
from torch_debugger.model.step_memory import StepMemory, TooLongError, measure_step
from torch_debugger.records import CaseFact, Place, Rehearsal, TrialResult
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.units import bytes_text
from torch_debugger.system.clocks import time
from torch_debugger.trials import preflight_data as input_use
from torch_debugger.trials import preflight_gradients as independence
from torch_debugger.trials import preflight_loss as initial_loss
from torch_debugger.trials import preflight_training as overfit
from torch_debugger.trials.gpu_rehearsal import rehearse
from torch_debugger.trials.preflight_case import Case, NotPossibleError, failed, passed, untried
from torch_debugger.trials.preflight_training import Learned, Tell, describe_optimizer, fit, other_way, own_way

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
            trial = make(Learned.from_result(done.get(overfit.OVERFIT_NAME)))
            done[name] = run(name, functools.partial(self._tried, name, trial))
            yield done[name]

    def _cheap(self) -> list[tuple[str, Trial]]:
        case = self.case
        return [
            (initial_loss.INITIAL_LOSS_NAME, lambda: initial_loss.try_initial_loss(case)),
            (independence.GRADIENT_REACH_NAME, lambda: independence.try_gradients(case)),
            (input_use.INPUT_USE_NAME, lambda: input_use.try_input_use(case)),
            (independence.BATCH_INDEPENDENCE_NAME, lambda: independence.try_batch_independence(case)),
            (DETERMINISM_NAME, lambda: try_determinism(case)),
        ]

    def _trained(self) -> list[tuple[str, Callable[[Learned], Trial]]]:
        case, tell = self.case, self.tell
        return [
            (overfit.OVERFIT_NAME, lambda _: lambda: overfit.try_overfit(case, tell)),
            (input_use.ZERO_INPUT_NAME, lambda how: lambda: input_use.try_zero_input(case, how, tell)),
            (input_use.SHUFFLED_LABELS_NAME, lambda how: lambda: input_use.try_shuffled_labels(case, how, tell)),
            (overfit.TWO_MODES_NAME, lambda how: lambda: overfit.try_two_modes(case, how, tell)),
            (overfit.RATE_RANGE_NAME, lambda how: lambda: overfit.try_rate_range(case, how, tell)),
            (GPU_NAME, lambda _: lambda: try_gpu(case)),
            (MEMORY_NAME, lambda _: lambda: try_memory(case)),
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


def text_here(task: Callable[[], str]) -> str:
    """In the training's own process, where a fork cannot be: it ends after the trials."""
    return task()


def trial_here(name: str, trial: Trial) -> TrialResult:
    return trial()


# A case in words: what the trials are made with.
_SHOWN = 4


def describe_case(case: Case, loss: float, place: Place | None = None) -> CaseFact:
    given = [f"{str(each.dtype).removeprefix('torch.')} {list(each.shape)}" for each in tensors_in(case.call)]
    more = f" and {len(given) - _SHOWN} more" if len(given) > _SHOWN else ""
    return CaseFact(
        model=" and ".join(case.models),
        parameters=sum(each.numel() for each in case.parameters().values()),
        inputs=", ".join(given[:_SHOWN]) + more,
        optimizer=describe_optimizer(case.optimizer) if case.optimizer is not None else "",
        loss=loss,
        place=place or Place(),
    )


# The forward on a pretended GPU: would it meet tensors of two devices there?
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
    if found.outcome == "mismatch" and not case.on_gpu:
        raise NotPossibleError(f"The script names no GPU. {_told(found)}")
    if found.outcome == "mismatch":
        return failed(
            GPU_NAME, _told(found), "Make it where the input is: `device=x.device`, or register it as a buffer."
        )
    raise NotPossibleError(
        f"It cannot be rehearsed: {found.error.splitlines()[0].rstrip('.') if found.error else '?'}."
    )


def _told(found: Rehearsal) -> str:
    made = f", made at {_line(found.origin)}" if found.origin.file else ""
    return (
        f"On a GPU the forward of `{found.root}` would stop at {_line(found.place)}: tensors of "
        f"{' and '.join(found.devices) or 'two devices'} meet{made}."
    )


def _line(place: Place) -> str:
    code = f" (`{place.code}`)" if place.code else ""
    return f"{os.path.basename(place.file or '?')}:{place.line}{code}"


# How much memory a training step would take on a GPU, worked out without one.
MEMORY_NAME = "peak memory"

_MEMORY_TIME_LIMIT_S = 10.0


def try_memory(case: Case) -> TrialResult:
    if len(case.models) > 1:
        raise NotPossibleError("It is worked out for one model, and this step trains several.")
    weights = _bytes(each for model in case.models.values() for each in [*model.parameters(), *model.buffers()])
    gradients, batch = _bytes(case.parameters().values()), _bytes(tensors_in(case.call))
    step, state = _measure(case).peak_bytes, _state(case)
    # gradients are counted by the step, which makes them
    peak = weights + batch + (state or 0) + max(step, gradients)
    parts = {"weights": weights, "optimizer": state or 0, "batch": batch, "step": max(step, gradients)}
    said = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items() if size)
    said += "" if state is not None else ", and what the optimizer keeps"
    return passed(MEMORY_NAME, f"A step would take {bytes_text(peak)} at its peak: {said}.", peak_bytes=peak, **parts)


def _measure(case: Case) -> StepMemory:
    module = next(iter(case.models.values()))
    try:
        return measure_step(module, *case.call, deadline=time.monotonic() + _MEMORY_TIME_LIMIT_S)
    except TooLongError:
        raise NotPossibleError(f"It takes longer than {_MEMORY_TIME_LIMIT_S:g} s to work out.") from None
    except Exception as error:  # a forward that needs values cannot be measured
        raise NotPossibleError(f"The forward needs numbers, not shapes alone ({type(error).__name__}).") from None


def _state(case: Case) -> int | None:
    """What the optimizer keeps after a step; None where no step can be made."""
    way = own_way(case) or other_way(case, 1e-3)
    try:
        fit(case, way.optimizer, steps=1)
    except NotPossibleError:
        return None
    return _bytes(tensor for state in way.optimizer.state.values() for tensor in tensors_in(state))


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    once = {id(each): each.numel() * each.element_size() for each in tensors}
    return sum(once.values())


# Two short trainings from one seed: do they agree?
DETERMINISM_NAME = "determinism"

_STEPS = 3
_SUMMED_OTHERWISE = 1e-4  # of the loss; a GPU may add up in any order


def try_determinism(case: Case) -> TrialResult:
    one, two = _run(case), _run(case)
    differing = [at for at, pair in enumerate(zip(one, two, strict=False)) if not _agree(*pair)]
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
    return passed(DETERMINISM_NAME, f"Two runs of {_STEPS} steps from one seed agree {exact}.")


def _agree(one: float, two: float) -> bool:
    both_lost = not math.isfinite(one) and not math.isfinite(two)
    return both_lost or abs(one - two) <= _SUMMED_OTHERWISE * max(abs(one), abs(two))


def _run(case: Case) -> tuple[float, ...]:
    """From the random state as it is, which is left as it was."""
    with case.undone():
        way = own_way(case) or other_way(case, 1e-3)
        return fit(case, way.optimizer, steps=_STEPS).losses
