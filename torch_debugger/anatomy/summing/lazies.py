"""Lazy layers get their sizes on a copy: the user's model stays lazy."""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.compiling import uncompiled
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.graph_calls import Call
from torch_debugger.anatomy.nested import exchanged
from torch_debugger.anatomy.randomness import randomness_kept
from torch_debugger.anatomy.summing.attempts import Attempt, Blank
from torch_debugger.anatomy.summing.runs import Runner
from torch_debugger.anatomy.unseen_runs import in_mode
from torch_debugger.errors import UsageError

NOTE = "Lazy layers were given their sizes on a copy: the model itself still waits for its first batch."


def is_lazy(model: nn.Module) -> bool:
    return any(nn.parameter.is_lazy(value) for value in (*model.parameters(), *model.buffers()))


def materialised(runner: Runner, attempts: list[Attempt]) -> Attempt | None:
    """Exchanges the runner's model for a copy whose layers have their sizes; and how it was called."""
    lazy = runner.model
    for attempt in attempts:
        runner.model = _copy(lazy)
        with _first_run(runner.model, runner.training):
            if runner.plain(attempt):
                return attempt
    runner.model = lazy
    return None


def sized_copy(model: nn.Module, calls: list[Call]) -> nn.Module:
    """A copy whose layers have their sizes, or what the model raised; inputs on meta are made."""
    runner = Runner(model, training=False)
    if materialised(runner, [Attempt(exchanged(call, _made_when_needed)) for call in calls]) is None:
        raise runner.failures[0].error
    return runner.model


def _made_when_needed(tensor: torch.Tensor) -> Any:
    return Blank(tuple(tensor.shape), tensor.dtype) if tensor.is_meta else tensor


def _copy(model: nn.Module) -> nn.Module:
    # A lazy parameter can be copied, a lazy buffer cannot: it is made anew.
    fresh = {id(value): _fresh(value) for value in model.buffers() if nn.parameter.is_lazy(value)}
    try:
        return copy.deepcopy(model, fresh)
    except Exception as error:  # whatever the user's objects say to being copied
        raise UsageError(
            "the model has lazy layers and cannot be copied to give them their sizes "
            f"({type(error).__name__}: {error}): run it once on a batch, then ask again."
        ) from error


def _fresh(buffer: torch.Tensor) -> torch.Tensor:
    kind: Any = nn.parameter.UninitializedBuffer
    made: torch.Tensor = kind(device=buffer.device, dtype=buffer.dtype)
    return made


@contextlib.contextmanager
def _first_run(model: nn.Module, training: bool | None) -> Iterator[None]:
    """Nothing is put back, since the copy is ours; random numbers are."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    mode = contextlib.nullcontext() if training is None else in_mode(model, training)
    with randomness_kept(), quiet[0], quiet[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mode, uncompiled(), without_global_hooks(), torch.inference_mode(False), torch.no_grad():
            yield
