"""The shapes that flowed through a model up to its crash, by running its forward once more.

The replay leaves nothing behind: random states, buffers and attributes are put back, nothing is
printed, and it gives up after a moment.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps, loads
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from torch_debugger.crashes.frames import LiveFrame, Running, describe, is_tensor
from torch_debugger.model.forks import ForkedTask, in_process_group, is_shared
from torch_debugger.model.hooks import without_global_hooks
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.records import CrashFact, FlowStep
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.system.clocks import time

_STEPS_KEPT = 40
_FUNCTIONAL = os.path.join("torch", "nn", "functional.py")
_OF_SHAPES = ("size", "shape", "dimension")
# A device that is lost; memory that was refused: asked for once more it may be granted, and then be filled.
_NOT_AGAIN = ("CUDA error", "DefaultCPUAllocator")


def replay_shapes(error: BaseException, frames: Sequence[LiveFrame], paths: Mapping[int, str]) -> list[FlowStep]:
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


def replay_last_call(error: BaseException, frames: Sequence[LiveFrame], running: Running) -> list[FlowStep]:
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


def outermost_call(frames: Sequence[LiveFrame]) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    for seen in frames:
        module, variables = seen.module(), seen.locals
        if module is None or is_shared(module):  # the module inside of it comes next
            continue
        if seen.function in ("_call_impl", "_wrapped_call_impl"):
            args, kwargs = variables.get("args"), variables.get("kwargs")
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

    def record(module: nn.Module, inputs: Any, made: Any) -> None:
        if threading.get_ident() != thread:
            return
        if time.monotonic() > deadline:
            raise TooLong
        path = paths.get(id(module), type(module).__name__)
        steps.append(FlowStep(path, type(module).__name__, shapes_of(inputs), shapes_of(made)))

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


# Views that made other rows of a batch: read back from the autograd graph of what a loss was given.
_VIEWS = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0")
_NODE_LIMIT = 300


def views_before(frames: Sequence[LiveFrame]) -> list[FlowStep]:
    """The views that changed the first dimension on the way to the loss's input, the earliest first."""
    value: Any = frames[-1].frame.f_locals.get("input") if frames and not frames[-1].user else None
    steps = _changed_rows(value.grad_fn) if is_tensor(value) else ()
    return [FlowStep("view", "view", (before,), (after,)) for before, after in steps][::-1]


def _changed_rows(start: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    waiting: list[Any] = [start]
    seen: set[Any] = set()
    while waiting and len(seen) < _NODE_LIMIT:
        node = waiting.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [following for following, _ in node.next_functions]
        if node.name() in _VIEWS:
            before = tuple(int(size) for size in node._saved_self_sym_sizes)
            after = tuple(int(size) for size in node._input_metadata[0].shape)
            if before and after and before[0] != after[0]:
                yield before, after


# The call that a compiler failed on, made once more without the compiler.
#
# It is made in a fork, so that whatever the user's code does in it leaves no trace here; a crash of it comes back as
# a record.
_TIME_LIMIT_S = 3.0  # mostly it takes a tenth of a second; the fork is nice, and the machine may be busy
_EVAL_FRAME = os.path.join("_dynamo", "eval_frame.py")
_WRAPPERS = ("compile_wrapper", "_fn")  # the second before torch 2.9
_GENERATED, _INDUCTOR = "<eval_with_key>", f"{os.sep}torchinductor_"
_COMPILERS = ("torch._dynamo", "torch._inductor", "torch._functorch")


# makes a record of an exception, with the models whose names are known
Capture = Callable[[BaseException, Mapping[str, nn.Module]], CrashFact]


@dataclass(frozen=True)
class CompiledCall:
    """A compiled function or model, as it is without the compiler, and what it was called with."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outside: int  # frames up to the user's line that makes the call

    @property
    def model(self) -> nn.Module | None:
        """Its own method is called; one of torch's layers stands in the closure of a wrapper."""
        owners = [getattr(self.function, "__self__", None)]
        owners += [cell.cell_contents for cell in getattr(self.function, "__closure__", None) or ()]
        return next((owner for owner in owners if isinstance(owner, nn.Module)), None)


@dataclass(frozen=True)
class EagerAnswer:
    crash: CrashFact | None  # None: it runs through
    outside: int = 0  # frames of the traceback up to the user's line that makes the call


def compiled_call(error: BaseException, frames: Sequence[LiveFrame]) -> CompiledCall | None:
    """The outermost compiled call of a traceback, when the compiler raised, or the code that it made."""
    if not str(type(error).__module__).startswith(_COMPILERS) and not _in_generated_code(frames):
        return None
    outside = 0
    for place, seen in enumerate(frames):
        outside = place + 1 if seen.user else outside
        if seen.function in _WRAPPERS and seen.file.endswith(_EVAL_FRAME):
            variables = seen.locals
            function, args, kwargs = variables.get("fn"), variables.get("args"), variables.get("kwargs")
            if callable(function) and type(args) is tuple and type(kwargs) is dict:
                return CompiledCall(function, args, kwargs, outside)
    return None


def _in_generated_code(frames: Sequence[LiveFrame]) -> bool:
    """Behind the user's last line, whose number is then only that of the function."""
    last = next((place for place, seen in enumerate(reversed(frames)) if seen.user), len(frames))
    behind = frames[len(frames) - last :]
    return any(seen.file.startswith(_GENERATED) or _INDUCTOR in seen.file for seen in behind)


def ask_eager(
    error: BaseException, frames: Sequence[LiveFrame], paths: Mapping[int, str], capture: Capture
) -> EagerAnswer | None:
    """None where it was not tried, or gave no answer in time."""
    call = compiled_call(error, frames)
    if call is None or not hasattr(os, "fork") or any(tensor.device.type != "cpu" for tensor in _reach(call)):
        return None
    names = _names(call, paths)
    task = ForkedTask(lambda: _run(call, lambda again: capture(again, names)), _TIME_LIMIT_S)
    text = task.wait()
    if task.ended != "done":
        return None
    crash = from_plain("CrashFact", plain) if (plain := loads(text)) is not None else None
    return EagerAnswer(crash if isinstance(crash, CrashFact) else None, call.outside)


def _reach(call: CompiledCall) -> Iterator[torch.Tensor]:
    yield from (value for value in (*call.args, *call.kwargs.values()) if is_tensor(value))
    yield from call.model.parameters() if call.model is not None else ()


def _run(call: CompiledCall, capture: Callable[[BaseException], CrashFact]) -> str:
    torch.compiler.set_stance("force_eager")
    try:
        with without_global_hooks():
            call.function(*call.args, **call.kwargs)
    except Exception as again:
        return dumps(to_plain(capture(again)))
    return "null"


def _names(call: CompiledCall, paths: Mapping[int, str]) -> dict[str, nn.Module]:
    """The user's name for a compiled model, for the model inside: model._orig_mod is model."""
    path = paths.get(id(call.model), "").removesuffix("._orig_mod")
    return {path: call.model} if path and call.model is not None else {}


# Running a forward once more after a crash: when that is wise, on copies of its inputs.
TIME_LIMIT_S = 0.6
_PARAMETER_LIMIT, _INPUT_LIMIT, _MODULE_LIMIT = 100_000_000, 20_000_000, 3000


class TooLong(BaseException):
    """Ends a replay; no `except Exception` in the user's forward may keep it going."""


def is_small(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """A model that is small, not compiled and not one of several ranks', on a batch that is no giant."""
    modules = list(module.modules())
    if in_process_group() or any(map(is_shared, modules)):
        return False
    if len(modules) > _MODULE_LIMIT or any("_orig_mod" in vars(part)["_modules"] for part in modules):
        return False
    weights = sum(parameter.numel() for parameter in module.parameters())
    elements = sum(value.numel() for value in (*args, *kwargs.values()) if is_tensor(value))
    return bool(weights <= _PARAMETER_LIMIT and elements <= _INPUT_LIMIT)


def copied(value: Any) -> Any:
    """Tensors cloned, so that an in-place op of the replay does not reach the user's batch; graphs are kept."""
    if is_tensor(value):
        return value.clone()
    if is_one_of(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value
