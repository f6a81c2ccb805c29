"""Runs of the user's model for our own sake, as if they had never been."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator

import torch
from torch import nn

from torch_debugger.anatomy.compiling import uncompiled
from torch_debugger.anatomy.rerun import leaving_no_trace, own_autocast_cache
from torch_debugger.errors import UsageError


@contextlib.contextmanager
def as_if_never(model: nn.Module) -> Iterator[None]:
    """Buffers, random numbers and attributes are put back; what the forward prints is shown."""
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        raise UsageError(f"`{lazy[0]}` has no shape yet: run the model once before looking into it.")
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise UsageError("a scripted or traced model cannot be looked into: take the model it was made from.")
    out, err = sys.stdout, sys.stderr
    heard = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with leaving_no_trace(model), heard[0], heard[1], uncompiled(), own_autocast_cache():
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
