"""The functions of torch's that tell a recorder of themselves, for as long as somebody records.

A recorder works in the thread that switched it on; for other threads everything is as before.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.trials.hunt.mode_stack import put_in, take_out
from torch_debugger.trials.hunt.recorder import Recorder

Backward = Callable[..., None]


class _ThisThread(threading.local):
    recorder: Recorder | None = None
    backward: Callable[[Backward, Any, tuple[Any, ...], dict[str, Any]], None] | None = None


this_thread = _ThisThread()
_lock = threading.Lock()
_users = 0
_undo: list[Callable[[], None]] = []


def stand_in() -> None:
    """Once more for each who wants it."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _replace(nn.Module, "__call__", _around_module)
            _replace(torch.autograd.Function, "apply", _around_function)
            _replace(torch.autograd, "backward", _around_backward)
            _replace(_BaseDataLoaderIter, "__next__", _around_batch)
            hooks = register_optimizer_step_pre_hook(_rest), register_optimizer_step_post_hook(_wake)
            _undo.extend(hook.remove for hook in hooks)


def stand_back() -> None:
    global _users
    with _lock:
        _users -= 1
        while _users == 0 and _undo:
            _undo.pop()()


def _replace(owner: Any, name: str, around: Callable[[Any], Any]) -> None:
    original = vars(owner)[name]
    ours = around(original)
    setattr(owner, name, ours)

    def undo() -> None:
        if vars(owner)[name] is ours:  # else somebody stands over ours, and goes on calling it
            setattr(owner, name, original)

    _undo.append(undo)


@functools.lru_cache(maxsize=1)
def _around_module(original: Any) -> Any:
    @functools.wraps(original)
    def call(module: nn.Module, *arguments: Any, **keywords: Any) -> Any:
        recorder = this_thread.recorder
        if recorder is None or recorder.inside or recorder.fault:
            return original(module, *arguments, **keywords)
        if recorder.resting:  # a step() that raised
            _wake()
        return recorder.call(module, functools.partial(original, module), arguments, keywords)

    return call


@functools.lru_cache(maxsize=1)
def _around_function(original: Any) -> Any:
    @functools.wraps(original.__func__)
    def apply(cls: Any, *arguments: Any, **keywords: Any) -> Any:
        recorder = this_thread.recorder
        if recorder is None or recorder.inside or recorder.fault:
            return original.__func__(cls, *arguments, **keywords)
        if cls.__module__.startswith("torch._functorch"):  # compiled: it cannot be called a second time
            with recorder.standing_by():
                return original.__func__(cls, *arguments, **keywords)
        again = functools.partial(_apply, cls)  # by whatever `apply` is then
        return recorder.call(again, functools.partial(original.__func__, cls), arguments, keywords)

    return classmethod(apply)


def _apply(cls: Any, *arguments: Any, **keywords: Any) -> Any:
    return cls.apply(*arguments, **keywords)


@functools.lru_cache(maxsize=1)
def _around_batch(original: Any) -> Any:
    @functools.wraps(original)
    def following(batches: Any) -> Any:
        """How a dataset makes its samples is not recorded: a batch comes from elsewhere."""
        recorder = this_thread.recorder
        if recorder is None or recorder.inside:
            return original(batches)
        with recorder.standing_by():
            return original(batches)

    return following


@functools.lru_cache(maxsize=1)
def _around_backward(original: Any) -> Any:
    @functools.wraps(original)
    def backward(tensors: Any, *arguments: Any, **keywords: Any) -> None:
        recorder, watched = this_thread.recorder, this_thread.backward
        if recorder is None or watched is None or recorder.inside:
            original(tensors, *arguments, **keywords)
        else:
            watched(original, tensors, arguments, keywords)

    return backward


def _rest(optimizer: Any, arguments: Any, keywords: Any) -> None:
    """What an optimizer computes is its own affair; but a closure is the user's."""
    recorder = this_thread.recorder
    closure = keywords.get("closure") or (arguments[1] if len(arguments) > 1 else None)
    if recorder is not None and closure is None and take_out(recorder):
        recorder.resting = True


def _wake(*_: Any) -> None:
    recorder = this_thread.recorder
    if recorder is not None and recorder.resting:
        recorder.resting = False
        put_in(recorder)
