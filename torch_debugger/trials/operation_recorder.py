"""A mode that writes a tape: torch functions called outside of modules, modules and Functions as a whole.

Inside of a module it is off the stack: what runs there runs as if nobody recorded.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.source.files import is_user_file
from torch_debugger.trials.nan_operations import WRITERS, version_of
from torch_debugger.trials.operation_tape import Frames, ModeSetting, ResultOf, Tape, TapeStep

_FRAMES = 40  # looked at for the user's own
_DRAWING = frozenset({"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
                      "normal", "multinomial", "bernoulli", "poisson"})  # fmt: skip
_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})  # attributes that compute something
_READING, _COMPUTING, _WRITING, _MARKING, _DIFFERENTIATING = range(5)
T = TypeVar("T")


class OperationRecorder(TorchFunctionMode):
    """`stacklevel`: how many of the user's lines are noted with each step."""

    def __init__(self, see_gradients: Callable[[Any, TapeStep], None]) -> None:
        super().__init__()
        self.tape = Tape()
        self.stacklevel = 1
        self.surfaced: tuple[ResultOf, float] | None = None  # the first value read by the user that was not finite
        self._see_gradients = see_gradients  # that torch.autograd.grad has given
        self.inside = False  # of a module or a backward: what happens there is one step
        self.resting = False  # an optimizer is at work
        self.fault = ""  # why it has taken itself off

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if torch.compiler.is_compiling():  # a compiled function is traced with the modes around it
            return func(*args, **keywords)
        kind = _kind(func) if not self.fault else _READING
        if kind == _READING:
            return func(*args, **keywords)
        if kind == _DIFFERENTIATING and not keywords.get("create_graph"):
            return self._differentiate(func, args, keywords)
        if kind == _MARKING and not self.tape.knows(args[0]):
            return func(*args, **keywords)
        if kind in (_WRITING, _MARKING) or keywords.get("out") is not None or keywords.get("inplace"):
            return self._write(func, args, keywords)
        result = func(*args, **keywords)
        if isinstance(result, (torch.Tensor, tuple, list)):
            self.guarded(self._note, func, args, keywords, result)
        elif type(result) is float and not math.isfinite(result):
            self.guarded(self._surface, args, result)
        return result

    def guarded(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T | None:
        """An error of ours is never the user's: then nothing is recorded any more."""
        try:
            return function(*arguments, **keywords)
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"
            self.tape.forget()
            return None

    def _note(self, func: Any, args: Any, keywords: Any, result: Any) -> None:
        """What is made of no tensor, as by torch.tensor, comes from elsewhere."""
        made = (result,) if isinstance(result, torch.Tensor) else tuple(tensors_in(result))
        if not made:
            return
        stored, named = self.tape.hold(args), self.tape.hold(keywords) if keywords else keywords
        drawn = "dropout" in getattr(func, "__name__", "")
        step = self.tape.step(func, stored, named, self._frames(sys._getframe(3)), setting_now(drawn))
        if step.operands:
            self.tape.keep(step, made)

    def _write(self, func: Any, args: Any, keywords: Any) -> Any:
        """What is written over is kept before, unless it is upkeep: without gradients, and nobody's result."""
        targets = list(tensors_in((args[:1], keywords.get("out"))))
        step: TapeStep | None = None
        if torch.is_grad_enabled() or any(map(self.tape.knows, targets)):
            step = self.guarded(self._before_writing, func, args, keywords, targets)
        result = func(*args, **keywords)
        if step is not None:
            for tensor in targets:
                self.tape.wrote(step, tensor)
        return result

    def _before_writing(self, func: Any, args: Any, keywords: Any, targets: list[torch.Tensor]) -> TapeStep:
        frames = self._frames(sys._getframe(4))
        for tensor in targets:
            if not self.tape.knows(tensor) and not (tensor.requires_grad and tensor.is_leaf):
                before = self.tape.hold((tensor.detach().clone(),))
                self.tape.keep(self.tape.step(_itself, before, {}, frames, setting_now()), [tensor])
        return self.tape.step(func, self.tape.hold(args), self.tape.hold(keywords), frames, setting_now())

    def call(self, function: Any, called: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """A module or a Function as one step: `called` is what really runs."""
        tensors = list(tensors_in((arguments, keywords)))
        versions = [version_of(tensor) for tensor in tensors]
        step = self.guarded(self._before_call, function, arguments, keywords)
        with self.standing_by():
            result = called(*arguments, **keywords)
        if step is not None:
            self.tape.keep(step, tensors_in(result))
            for tensor, version in zip(tensors, versions, strict=True):
                if version_of(tensor) != version:
                    self.tape.wrote(step, tensor)
        return result

    def _before_call(self, function: Any, arguments: Any, keywords: Any) -> TapeStep:
        stored, named = self.tape.hold(arguments), self.tape.hold(keywords) if keywords else keywords
        setting = setting_now(drawn=True, training=getattr(function, "training", None))
        return self.tape.step(function, stored, named, self._frames(sys._getframe(4)), setting)

    @contextlib.contextmanager
    def standing_by(self) -> Iterator[None]:
        """Off torch's stack of modes while something runs as a whole."""
        self.inside = True
        was_on = take_out(self)
        try:
            yield
        finally:
            self.inside = False
            if was_on:
                put_in(self)

    def _differentiate(self, func: Any, args: Any, keywords: Any) -> Any:
        """The results of a last derivative come from elsewhere: they do not keep what they were made of."""
        result = func(*args, **keywords)
        step = self.guarded(self._before_call, func, args, keywords)
        if step is not None:
            self._see_gradients(result, step)
        return result

    def _surface(self, args: Any, value: float) -> None:
        made = self.tape.made(args[0]) if args and isinstance(args[0], torch.Tensor) else None
        if self.surfaced is None and made is not None:
            self.surfaced = made, value

    def _frames(self, frame: FrameType | None) -> Frames:
        """The caller's, whosoever it is, then the user's own."""
        found = [] if frame is None else [(frame.f_code, frame.f_lasti)]
        for _ in range(_FRAMES):
            if frame is None or len(found) > self.stacklevel:
                break
            if is_user_file(frame.f_code.co_filename):
                found.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return tuple(found)


def setting_now(drawn: bool = False, training: bool | None = None) -> ModeSetting:
    autocast: tuple[tuple[str, torch.dtype], ...] = ()
    if torch._C._is_any_autocast_enabled():
        kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
        autocast = tuple((kind, torch.get_autocast_dtype(kind)) for kind in kinds)
    generators = [torch.default_generator] if drawn else []
    if drawn and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        generators.append(torch.cuda.default_generators[torch.cuda.current_device()])
    states = tuple((generator, generator.get_state()) for generator in generators)
    return ModeSetting(torch.is_grad_enabled(), autocast, states, training)


@functools.lru_cache(maxsize=4096)
def _kind(func: Any) -> int:
    name = str(getattr(func, "__name__", ""))
    if name in ("__get__", "__set__"):
        attribute = getattr(func.__self__, "__name__", "")
        if name == "__set__" and attribute == "requires_grad":
            return _MARKING
        return _COMPUTING if name == "__get__" and attribute in _VIEWS else _READING
    if name == "requires_grad_":
        return _MARKING
    if name in ("backward", "register_hook", "retain_grad") or name in _DRAWING:
        return _READING
    if name == "grad" and func.__module__ == "torch.autograd":
        return _DIFFERENTIATING
    if name in WRITERS or (name.endswith("_") and not name.endswith("__")):
        return _WRITING
    return _COMPUTING


def _itself(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as it was before it was first written into."""
    return tensor.clone()


# The functions of torch's that tell a recorder of themselves, for as long as somebody records.
#
# A recorder works in the thread that switched it on; for other threads everything is as before.
Backward = Callable[..., None]


class _ThisThread(threading.local):
    recorder: OperationRecorder | None = None
    backward: Callable[[Backward, Any, tuple[Any, ...], dict[str, Any]], None] | None = None


this_thread = _ThisThread()
_lock = threading.Lock()
_users = 0
_undo: list[Callable[[], None]] = []


def patch_torch() -> None:
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


def unpatch_torch() -> None:
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


# A function mode of ours on torch's stack of them, put in and taken out without disturbing the others.
#
# `with torch.device(...)` takes off the topmost when it ends, and `torch.set_default_device` the lowest: ours is
# always right above the default device, below everything else.
def put_in(mode: TorchFunctionMode) -> None:
    others = _take_all()
    context = getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None)
    default = getattr(context, "device_context", None)
    at = 1 if others and others[0] is default else 0
    _put_back([*others[:at], mode, *others[at:]])


def take_out(mode: TorchFunctionMode) -> bool:
    """Whether it was there."""
    others = _take_all()
    rest = [other for other in others if other is not mode]
    _put_back(rest)
    return len(rest) < len(others)


@contextlib.contextmanager
def without(mode: TorchFunctionMode) -> Iterator[None]:
    if not take_out(mode):
        yield
        return
    try:
        yield
    finally:
        put_in(mode)


def _take_all() -> list[TorchFunctionMode]:
    """The lowest first."""
    taken = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack())]
    return taken[::-1]


def _put_back(modes: list[TorchFunctionMode]) -> None:
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)
