"""The shapes that flowed through a model up to its crash, by running its forward once more.

The replay leaves nothing behind: random states, buffers and attributes are put back, nothing is
printed, and it gives up after a moment.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    _global_forward_hooks,
    _global_forward_pre_hooks,
    register_module_forward_hook,
)

from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.probes.crash_frames import Seen, describe, is_tensor
from torch_debugger.records import FlowStep

_TIME_LIMIT_S = 0.6
_PARAMETER_LIMIT, _INPUT_LIMIT, _MODULE_LIMIT = 100_000_000, 20_000_000, 3000
_STEPS_KEPT = 40


class _TooLong(BaseException):
    """Ends a replay; no `except Exception` in the user's forward may keep it going."""


def replay_shapes(error: BaseException, frames: Sequence[Seen], paths: Mapping[int, str]) -> list[FlowStep]:
    """The modules that ran before the crash, in order; empty when a replay is unwise or disagrees."""
    call = _outermost_call(frames)
    if call is None or not _is_wise(error, *call):
        return []
    module, args, kwargs = call
    steps: list[FlowStep] = []
    try:
        with leaving_no_trace(module), _recorded(steps, paths), torch.no_grad():
            module.forward(*_copied(args), **_copied(kwargs))
    except _TooLong:
        return []
    except Exception as again:
        return steps[-_STEPS_KEPT:] if type(again) is type(error) else []
    return []


def _outermost_call(frames: Sequence[Seen]) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    for seen in frames:
        module, held = seen.module(), seen.frame.f_locals
        if module is not None and seen.function in ("_call_impl", "_wrapped_call_impl"):
            args, kwargs = held.get("args"), held.get("kwargs")
            return (module, args, kwargs) if type(args) is tuple and type(kwargs) is dict else None
    return None


def _is_wise(error: BaseException, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Only errors that say the same twice, on a model that is small and not compiled."""
    if type(error) not in (RuntimeError, ValueError, AssertionError) or "CUDA error" in str(error):
        return False
    modules = list(module.modules())
    if len(modules) > _MODULE_LIMIT or any("_orig_mod" in vars(part)["_modules"] for part in modules):
        return False
    weights = sum(parameter.numel() for parameter in module.parameters())
    given = sum(value.numel() for value in (*args, *kwargs.values()) if is_tensor(value))
    return bool(weights <= _PARAMETER_LIMIT and given <= _INPUT_LIMIT)


@contextlib.contextmanager
def _recorded(steps: list[FlowStep], paths: Mapping[int, str]) -> Iterator[None]:
    deadline, thread = time.monotonic() + _TIME_LIMIT_S, threading.get_ident()

    def record(module: nn.Module, given: Any, made: Any) -> None:
        if threading.get_ident() != thread:
            return
        if time.monotonic() > deadline:
            raise _TooLong
        path = paths.get(id(module), type(module).__name__)
        steps.append(FlowStep(path, type(module).__name__, _shapes(given), _shapes(made)))

    with _without_global_hooks():
        handle = register_module_forward_hook(record)
        try:
            yield
        finally:
            handle.remove()


@contextlib.contextmanager
def _without_global_hooks() -> Iterator[None]:
    """A replayed forward is no step of the training: whoever watches all modules must not see it."""
    kept = [(hooks, dict(hooks)) for hooks in (_global_forward_pre_hooks, _global_forward_hooks)]
    for hooks, _ in kept:
        hooks.clear()
    try:
        yield
    finally:
        for hooks, before in kept:
            hooks.update(before)


def _shapes(values: Any) -> tuple[tuple[int, ...], ...]:
    parts = values if isinstance(values, tuple | list) else (values,)
    facts = [describe("", part) for part in parts[:8] if is_tensor(part)]
    return tuple(fact.shape for fact in facts if fact is not None)


def _copied(value: Any) -> Any:
    """Tensors cloned, so that an in-place op of the replay does not reach the user's batch."""
    if is_tensor(value):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)(_copied(item) for item in value)
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return value
