"""The call that a compiler failed on, made once more without the compiler.

It is made in a fork, so that whatever the user's code does in it leaves no trace here; a crash of
it comes back as a record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps, loads
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.records import CrashFact
from torch_debugger.records.codec import from_plain, to_plain

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
        held = [getattr(self.function, "__self__", None)]
        held += [cell.cell_contents for cell in getattr(self.function, "__closure__", None) or ()]
        return next((owner for owner in held if isinstance(owner, nn.Module)), None)


@dataclass(frozen=True)
class EagerAnswer:
    crash: CrashFact | None  # None: it runs through
    outside: int = 0  # frames of the traceback up to the user's line that makes the call


def compiled_call(error: BaseException, frames: Sequence[Seen]) -> CompiledCall | None:
    """The outermost compiled call of a traceback, when the compiler raised, or the code that it made."""
    if not str(type(error).__module__).startswith(_COMPILERS) and not _in_generated_code(frames):
        return None
    outside = 0
    for place, seen in enumerate(frames):
        outside = place + 1 if seen.user else outside
        if seen.function in _WRAPPERS and seen.file.endswith(_EVAL_FRAME):
            held = seen.frame.f_locals
            function, args, kwargs = held.get("fn"), held.get("args"), held.get("kwargs")
            if callable(function) and type(args) is tuple and type(kwargs) is dict:
                return CompiledCall(function, args, kwargs, outside)
    return None


def _in_generated_code(frames: Sequence[Seen]) -> bool:
    """Behind the user's last line, whose number is then only that of the function."""
    last = next((place for place, seen in enumerate(reversed(frames)) if seen.user), len(frames))
    behind = frames[len(frames) - last :]
    return any(seen.file.startswith(_GENERATED) or _INDUCTOR in seen.file for seen in behind)


def ask_eager(
    error: BaseException, frames: Sequence[Seen], paths: Mapping[int, str], capture: Capture
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
