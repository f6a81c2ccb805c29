"""One rehearsal of a step in a fork: what it changes, breaks or kills is lost with the fork."""

from __future__ import annotations

import dataclasses
import functools
import json
import random
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.memory_peak import MemoryPeak
from torch_debugger.anatomy.storage_tape import Site
from torch_debugger.errors import UsageError
from torch_debugger.trials.step_rehearsal.in_place import eager_and_unchecked, perform_in_place
from torch_debugger.trials.step_rehearsal.performing import perform
from torch_debugger.trials.step_rehearsal.step import Step

_TIME_LIMIT_S = 300.0


class FailedError(Exception):
    """The step could not be made; the text says why."""


@functools.cache
def load_fake_tensors() -> None:
    """Hundreds of modules that their first use brings in: once, and not in every fork."""
    drawn = random.getstate()
    with FakeTensorMode():
        torch.empty(1)
    random.setstate(drawn)


def perform_apart(step: Step, batch: int, *, real: bool, cublas_bytes: int) -> MemoryPeak:
    if sys.platform == "win32":
        raise FailedError("This system cannot fork, and a rehearsal needs a process of its own.")
    load_fake_tensors()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return _without_fork(step, batch, real, cublas_bytes)
    forked = ForkedTask(
        lambda: _told(step, batch, real, cublas_bytes), _TIME_LIMIT_S, urgent=True, kernels=real
    )
    text = forked.wait()
    if forked.ended != "done":
        took = f"took more than {_TIME_LIMIT_S:g} s" if forked.ended == "timeout" else "died"
        raise FailedError(f"The process of the rehearsal {took}.")
    plain = json.loads(text)
    if "usage" in plain:
        raise UsageError(plain["usage"])
    if "error" in plain:
        raise FailedError(plain["error"])
    return MemoryPeak(**{**plain, "site": Site(**plain["site"])})


def _without_fork(step: Step, batch: int, real: bool, cublas_bytes: int) -> MemoryPeak:
    if real:
        raise FailedError(
            "the step needs values, and a process that has used CUDA cannot make it apart from the training. "
            "Rehearse it in a fresh process, before anything is on the GPU."
        )
    try:
        return perform_in_place(step, batch, cublas_bytes=cublas_bytes)
    except UsageError:
        raise
    except Exception as error:  # the user's own code runs here, and may raise anything
        raise FailedError(_in_short(error)) from None


def _told(step: Step, batch: int, real: bool, cublas_bytes: int) -> str:
    try:
        with eager_and_unchecked():
            peak = perform(step, batch, real=real, cublas_bytes=cublas_bytes)
    except UsageError as error:
        return json.dumps({"usage": str(error)})
    except Exception as error:  # the user's own code runs here, and may raise anything
        return json.dumps({"error": _in_short(error)})
    return json.dumps(dataclasses.asdict(peak))


def _in_short(error: Exception) -> str:
    first = f"{error}".strip().splitlines()[:1]
    return f"{type(error).__name__}: {first[0][:300] if first else 'without a word'}"
