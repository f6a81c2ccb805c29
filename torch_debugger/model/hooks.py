"""Hooks on chosen modules, taken off whatever happens."""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks
from torch.utils.weak import WeakIdKeyDictionary, WeakIdRef

# path of this call (`act`, `act#2`), the module, what it was given and what it gave
Listener = Callable[[str, nn.Module, Any, Any], Any]


@contextlib.contextmanager
def listening(layers: dict[str, nn.Module], listener: Listener) -> Iterator[Counter[str]]:
    """Calls the listener after each call of a layer; how often each one ran is counted."""
    ran: Counter[str] = Counter()
    with contextlib.ExitStack() as hooks:
        for path, module in layers.items():
            hooks.enter_context(module.register_forward_hook(_hook(path, ran, listener), with_kwargs=True))
        yield ran


def not_called(layers: dict[str, nn.Module], ran: Counter[str]) -> list[str]:
    """Without lists of modules, which nobody calls."""
    return [path for path, module in layers.items() if has_forward(module) and path not in ran]


def _hook(path: str, ran: Counter[str], listener: Listener) -> Callable[..., Any]:
    def after(module: nn.Module, arguments: Any, keywords: Any, output: Any) -> Any:
        ran[path] += 1
        call = path if ran[path] == 1 else f"{path}#{ran[path]}"
        return listener(call, module, (arguments, keywords), output)

    return after


# Hooks on all modules, off for a while.
@contextlib.contextmanager
def without_global_hooks() -> Iterator[None]:
    """A replayed forward is no step of the training: whoever watches all modules must not see it."""
    kept = [(hooks, dict(hooks)) for hooks in (_global_forward_pre_hooks, _global_forward_hooks)]
    for hooks, _ in kept:
        hooks.clear()
    try:
        yield
    finally:
        for hooks, before in kept:
            hooks.update(before)


# The `forward` of a module as its class has it: what torch.jit has made gives its own to an instance only.
def _forward(module: nn.Module) -> Any:
    return inspect.getattr_static(type(module), "forward", None)


def has_forward(module: nn.Module) -> bool:
    """Lists and dictionaries of modules have none of their own."""
    return _forward(module) is not nn.Module.forward


def forward_code(module: nn.Module) -> CodeType | None:
    code = inspect.getattr_static(_forward(module), "__code__", None)
    return _forward(module).__code__ if code is not None else None


def forward_arguments(module: nn.Module) -> tuple[str, ...]:
    code = forward_code(module)
    return code.co_varnames[1 : code.co_argcount] if code is not None else ()


# What torch is doing at this moment: whether it is inside a backward pass, or inside a transform.
def in_backward() -> bool:
    """Also where a checkpointed block runs its forward once more."""
    return torch._C._current_graph_task_id() != -1


def in_transform() -> bool:
    """Inside vmap and the like a tensor has no numbers yet."""
    return torch._C._functorch.peek_interpreter_stack() is not None


# Whether torch.compile has been at work in this process, and how to do without it for a while.
def something_is_compiled() -> bool:
    """Before we came; from then on torch.compile tells us itself."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return any(callable(backend) for backend in getattr(frames, "cached_backends", {}).values())


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Hooks do not fire inside compiled code: what is compiled runs as it was written."""
    if "torch._dynamo" not in sys.modules:  # then nothing is
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


# Transformer layers in evaluation, part by part: torch would run each as one operation.
@contextlib.contextmanager
def unfused_encoders() -> Iterator[None]:
    """The same products, but each with the module that it belongs to."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


# Dictionaries whose keys are told apart by identity and do not keep what they are alive.
class _IdRef(WeakIdRef):
    """torch's own asks what it refers to for `_fix_weakref`, which calls a `__getattr__` of the script's. Only
    tensors have that."""

    __slots__ = ()
    __call__: Any = weakref.ref.__call__


class WeakKeysById(WeakIdKeyDictionary):
    """For keys that are no tensors: models, loaders and their iterators."""

    def __init__(self) -> None:
        super().__init__(ref_type=_IdRef)
