"""How much memory a training step would take on a GPU, worked out without one."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.step_memory import StepMemory, TooLongError, measure_step
from torch_debugger.clocks import time
from torch_debugger.records import TrialResult
from torch_debugger.records.units import bytes_text
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import fit, other_way, own_way
from torch_debugger.trials.preflight.outcomes import passed

NAME = "peak memory"

_TIME_LIMIT_S = 10.0


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
    return passed(NAME, f"A step would take {bytes_text(peak)} at its peak: {said}.", peak_bytes=peak, **parts)


def _measure(case: Case) -> StepMemory:
    module = next(iter(case.models.values()))
    try:
        return measure_step(module, *case.call, deadline=time.monotonic() + _TIME_LIMIT_S)
    except TooLongError:
        raise NotPossibleError(f"It takes longer than {_TIME_LIMIT_S:g} s to work out.") from None
    except Exception as error:  # a forward that needs values cannot be measured
        raise NotPossibleError(
            f"The forward needs numbers, not shapes alone ({type(error).__name__})."
        ) from None


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
