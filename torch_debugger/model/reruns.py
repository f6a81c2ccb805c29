"""Running a user's module again without leaving a trace: buffers, random state, prints."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy
import torch
from torch import nn

from torch_debugger.model.forks import unwarned
from torch_debugger.model.hooks import uncompiled
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.system.errors import UsageError

MODULE_ATTRIBUTES = frozenset(vars(nn.Module()))  # that every module has: parameters, buffers, children, hooks


def first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "(no message)")


@contextlib.contextmanager
def leaving_no_trace(root: nn.Module) -> Iterator[None]:
    """Runs the body with copies of the buffers, in silence, and puts everything back."""
    modules = [module for module in root.modules() if not is_a(module, torch.jit.ScriptModule)]
    kept = [(module, dict(vars(module)), _containers(module)) for module in modules]
    # They cannot be exchanged for copies, as those of other modules are.
    of_scripts = [module.buffers(recurse=False) for module in root.modules() if is_a(module, torch.jit.ScriptModule)]
    scripted = [(buffer, buffer.clone()) for buffers in of_scripts for buffer in buffers]
    restore_randomness = keep_randomness(modules)
    fast_kernels = torch._C._get_mkldnn_enabled()
    for module, attributes, _ in kept:
        present = {name: buffer.clone() for name, buffer in module._buffers.items() if buffer is not None}
        module._buffers.update(present)
        # What a forward may write into: its own tensors, lists of what it has seen.
        vars(module).update({name: _copy(value) for name, value in attributes.items() if name not in MODULE_ATTRIBUTES})
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    try:
        with quiet[0], quiet[1], unwarned():
            yield
    finally:
        for module, attributes, containers in kept:
            vars(module).clear()
            vars(module).update(attributes)
            for container, before in containers:
                container.clear()
                container.update(before)
        for buffer, before in scripted:
            buffer.data.copy_(before)
        restore_randomness()
        # torch switches oneDNN off for good when a bfloat16 product fails on a CPU that does not know them.
        torch._C._set_mkldnn_enabled(fast_kernels)


def _containers(module: nn.Module) -> list[tuple[Any, Any]]:
    """Each with what it holds: parameters, buffers, children, hooks. Hugging Face models hook themselves when
    they are first called, and note in an attribute that they did."""
    own = [value for name, value in vars(module).items() if name in MODULE_ATTRIBUTES]
    return [(value, value.copy()) for value in own if is_a(value, dict) or is_a(value, set)]


def _copy(value: Any) -> Any:
    if is_a(value, torch.Tensor):
        return value.detach().clone()
    if is_one_of(value, (list, dict, set, deque)):
        return copy.copy(value)
    return value


@contextlib.contextmanager
def own_autocast_cache() -> Iterator[None]:
    """In older torch, weights cast without gradients would be used by the user's next forward as well."""
    enabled = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(enabled)


# Runs of the user's model for our own sake, as if they had never been.
@contextlib.contextmanager
def as_if_never(model: nn.Module) -> Iterator[None]:
    """Buffers, random numbers and attributes are put back; what the forward prints is shown."""
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        raise UsageError(f"`{lazy[0]}` has no shape yet: run the model once before looking into it.")
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise UsageError("a scripted or traced model cannot be looked into: take the model it was made from.")
    out, err = sys.stdout, sys.stderr
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with leaving_no_trace(model), streams[0], streams[1], uncompiled(), own_autocast_cache():
        yield


def evaluating(model: nn.Module) -> contextlib.AbstractContextManager[None]:
    """Every module in evaluation mode, then each in its own again."""
    return in_mode(model, training=False)


@contextlib.contextmanager
def in_mode(model: nn.Module, training: bool) -> Iterator[None]:
    """Without eval() and train(), which may be the user's."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        _set_modes((module, training) for module, _ in modes)
        yield
    finally:
        _set_modes(modes)


def _set_modes(modes: Iterable[tuple[nn.Module, bool]]) -> None:
    """Setting an attribute of a module costs microseconds: only where it changes."""
    for module, mode in modes:
        if module.training is not mode:
            module.training = mode


# The states of all random number generators a training may draw from: kept, and put back.
def keep_randomness(modules: Iterable[object] = ()) -> Callable[[], None]:
    """Notes the states of torch, CUDA, numpy and Python, and of the generators that these objects hold; the
    function that comes back restores them."""
    states = torch.get_rng_state(), numpy.random.get_state(), random.getstate()
    restorers = keep_generators(modules)
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]

    def restore() -> None:
        torch.set_rng_state(states[0])
        numpy.random.set_state(states[1])
        random.setstate(states[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
        for put_back in restorers:
            put_back()

    return restore


@contextlib.contextmanager
def randomness_kept() -> Iterator[None]:
    """What is drawn inside is as if never drawn."""
    restore = keep_randomness()
    try:
        yield
    finally:
        restore()


# Random generators that modules hold, themselves or in a list or an object of theirs, and their states.
_KINDS = (numpy.random.Generator, numpy.random.RandomState, random.Random, torch.Generator)
_NO_HOLDERS = (torch.Tensor, type, types.ModuleType, types.FunctionType, torch.jit.ScriptModule)
# Most attributes: passed by for speed.
_PLAIN: frozenset[type] = frozenset((bool, bytes, float, int, str, type(None)))
_ENTRIES = 64  # of a list or an object that are looked at
_DEPTH = 3  # a transform's, in a list of transforms


def keep_generators(modules: Iterable[object]) -> list[Callable[[], object]]:
    """The functions that put the states back."""
    known: dict[int, int] = {}
    generators = [each for module in modules for each in _within(module, _DEPTH, known)]
    return [_keep(each) for each in generators if not is_a(each, random.SystemRandom)]  # has no state


def _within(value: Any, depth: int, known: dict[int, int]) -> Iterator[Any]:
    """`known` has how deep an object was looked into before: all modules may hold one large configuration."""
    if known.get(id(value), -1) >= depth:
        return
    known[id(value)] = depth
    if is_a(value, _KINDS):
        yield value
    elif depth:
        for part in islice(_parts(value), _ENTRIES):
            if not is_one_of(part, _PLAIN):
                yield from _within(part, depth - 1, known)


def _parts(value: Any) -> Iterator[Any]:
    if is_a(value, (list, tuple, set, deque)):
        yield from value
    elif is_a(value, dict):
        yield from value.values()
    elif not is_a(value, _NO_HOLDERS):
        yield from (part for name, part in own_attributes(value).items() if name not in MODULE_ATTRIBUTES)


def _keep(generator: Any) -> Callable[[], object]:
    if is_a(generator, numpy.random.Generator):
        bits = generator.bit_generator
        return functools.partial(setattr, bits, "state", bits.state)
    if is_a(generator, random.Random):
        return functools.partial(generator.setstate, generator.getstate())
    return functools.partial(generator.set_state, generator.get_state())
