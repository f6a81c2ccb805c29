"""Running a user's module again without leaving a trace: buffers, random state, prints."""

from __future__ import annotations

import contextlib
import copy
import io
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.randomness import keep_randomness
from torch_debugger.anatomy.unwarned import unwarned

_TORCHS_OWN = frozenset(vars(nn.Module()))


@contextlib.contextmanager
def leaving_no_trace(root: nn.Module) -> Iterator[None]:
    """Runs the body with copies of the buffers, in silence, and puts everything back."""
    modules = [module for module in root.modules() if not is_a(module, torch.jit.ScriptModule)]
    held = [(module, dict(vars(module)), _containers(module)) for module in modules]
    scripted = [(buffer, buffer.clone()) for buffer in _scripted_buffers(root)]
    restore_randomness = keep_randomness(modules)
    fast_kernels = torch._C._get_mkldnn_enabled()
    for module, attributes, _ in held:
        present = {name: buffer.clone() for name, buffer in module._buffers.items() if buffer is not None}
        module._buffers.update(present)
        vars(module).update(_copies(attributes))
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    try:
        with quiet[0], quiet[1], unwarned():
            yield
    finally:
        for module, attributes, containers in held:
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
    own = [value for name, value in vars(module).items() if name in _TORCHS_OWN]
    return [(value, value.copy()) for value in own if is_a(value, dict) or is_a(value, set)]


def _scripted_buffers(root: nn.Module) -> Iterator[torch.Tensor]:
    """They cannot be exchanged for copies, as those of other modules are."""
    for module in root.modules():
        if is_a(module, torch.jit.ScriptModule):
            yield from module.buffers(recurse=False)


def _copies(attributes: dict[str, Any]) -> dict[str, Any]:
    """What a forward may write into: its own tensors, lists of what it has seen."""
    return {name: _copy(value) for name, value in attributes.items() if name not in _TORCHS_OWN}


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
