"""The shapes that flowed through a model up to its crash, by running its forward once more.

The replay leaves nothing behind: random states, buffers and attributes are put back, nothing is
printed, and it gives up after a moment.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from torch_debugger.anatomy.alone import is_shared
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import Seen, describe, is_tensor
from torch_debugger.probes.examiners.scene import Running
from torch_debugger.probes.replays import TIME_LIMIT_S, TooLong, copied, is_small
from torch_debugger.records import FlowStep
from torch_debugger.stats.unseen import no_grad

_STEPS_KEPT = 40
_FUNCTIONAL = os.path.join("torch", "nn", "functional.py")
_OF_SHAPES = ("size", "shape", "dimension")
# A device that is lost; memory that was refused: asked for once more it may be granted, and then be filled.
_NOT_AGAIN = ("CUDA error", "DefaultCPUAllocator")


def replay_shapes(error: BaseException, frames: Sequence[Seen], paths: Mapping[int, str]) -> list[FlowStep]:
    """The modules that ran before the crash, in order; empty when a replay is unwise or disagrees."""
    call = outermost_call(frames)
    if call is None or not is_wise(error, *call):
        return []
    module, args, kwargs = call
    steps: list[FlowStep] = []
    try:
        with leaving_no_trace(module), _recorded(steps, paths), no_grad():
            module.forward(*copied(args), **copied(kwargs))
    except TooLong:
        return []
    except Exception as again:
        return steps[-_STEPS_KEPT:] if type(again) is type(error) else []
    return []


def replay_last_call(error: BaseException, frames: Sequence[Seen], running: Running) -> list[FlowStep]:
    """The modules of the one model that ran before a crash outside of it, in a loss or in the user's line."""
    is_outside = bool(frames) and (frames[-1].user or frames[-1].file.endswith(_FUNCTIONAL))
    models = [name for name in running.calls if next(running.models[name].parameters(), None) is not None]
    if len(models) != 1 or not is_outside:
        return []
    module, (args, kwargs) = running.models[models[0]], running.calls[models[0]]
    if not is_wise(error, module, args, kwargs):
        return []
    if not any(word in str(error) for word in _OF_SHAPES):
        return []
    steps: list[FlowStep] = []
    paths = {id(part): path for path, part in module.named_modules(prefix=models[0])}
    try:
        with leaving_no_trace(module), _recorded(steps, paths), no_grad():
            module.forward(*copied(args), **copied(kwargs))
    except (TooLong, Exception):  # what ran through once and does not again tells nothing
        return []
    return steps[-_STEPS_KEPT:]


def outermost_call(frames: Sequence[Seen]) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    for seen in frames:
        module, held = seen.module(), seen.frame.f_locals
        if module is None or is_shared(module):  # the module inside of it comes next
            continue
        if seen.function in ("_call_impl", "_wrapped_call_impl"):
            args, kwargs = held.get("args"), held.get("kwargs")
            return (module, args, kwargs) if type(args) is tuple and type(kwargs) is dict else None
    return None


def is_wise(error: BaseException, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Only errors that say the same twice, on a model that is small and not compiled."""
    if type(error) not in (RuntimeError, ValueError, AssertionError, IndexError):
        return False
    if any(words in str(error) for words in _NOT_AGAIN):
        return False
    return is_small(module, args, kwargs)


@contextlib.contextmanager
def _recorded(steps: list[FlowStep], paths: Mapping[int, str]) -> Iterator[None]:
    deadline, thread = time.monotonic() + TIME_LIMIT_S, threading.get_ident()

    def record(module: nn.Module, given: Any, made: Any) -> None:
        if threading.get_ident() != thread:
            return
        if time.monotonic() > deadline:
            raise TooLong
        path = paths.get(id(module), type(module).__name__)
        steps.append(FlowStep(path, type(module).__name__, shapes_of(given), shapes_of(made)))

    with without_global_hooks():
        handle = register_module_forward_hook(record)
        try:
            yield
        finally:
            handle.remove()


def shapes_of(values: Any) -> tuple[tuple[int, ...], ...]:
    parts = values if is_a(values, (tuple, list)) else (values,)
    facts = [describe("", part) for part in parts[:8] if is_tensor(part)]
    return tuple(fact.shape for fact in facts if fact is not None)
