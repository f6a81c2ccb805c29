"""A rehearsal in this very process: a fork of one that has used CUDA can make no backward.

Only on tensors without data: they stand in for the model's own, which are put back afterwards.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.distributions import Distribution

from torch_debugger.anatomy.memory_peak import MemoryPeak
from torch_debugger.anatomy.randomness import randomness_kept
from torch_debugger.trials.step_rehearsal.performing import perform
from torch_debugger.trials.step_rehearsal.step import Step

_HELD = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks")


def perform_in_place(step: Step, batch: int, *, cublas_bytes: int) -> MemoryPeak:
    with _undone(step), randomness_kept(), eager_and_unchecked():
        return perform(step, batch, cublas_bytes=cublas_bytes)


@contextlib.contextmanager
def eager_and_unchecked() -> Iterator[None]:
    """Nothing is compiled, and distributions do not look at the values of their arguments."""
    checks = Distribution._validate_args
    with contextlib.ExitStack() as stack:
        if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes seconds
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        Distribution.set_default_validate_args(False)
        stack.callback(Distribution.set_default_validate_args, checks)
        yield


@contextlib.contextmanager
def _undone(step: Step) -> Iterator[None]:
    modules = [module for model in step.models.values() for module in model.modules()]
    kept = [(module, _fields(module)) for module in modules]
    groups = [] if step.optimizer is None else [(group, dict(group)) for group in step.optimizer.param_groups]
    fields = {} if step.optimizer is None else dict(vars(step.optimizer))
    try:
        yield
    finally:
        for module, held in kept:
            _put_back(vars(module), held)
        for group, before in groups:
            _refill(group, before)
        if step.optimizer is not None:
            _refill(vars(step.optimizer), fields)


def _fields(module: torch.nn.Module) -> dict[str, Any]:
    """Of its dictionaries both: which ones they are, and what they hold."""
    held = dict(vars(module))
    return held | {name: (held[name], dict(held[name])) for name in _HELD if name in held}


def _put_back(fields: dict[str, Any], held: dict[str, Any]) -> None:
    plain = dict(held)
    for name in _HELD:
        if name in held:
            plain[name], content = held[name]
            _refill(plain[name], content)
    _refill(fields, plain)


def _refill(target: dict[str, Any], content: dict[str, Any]) -> None:
    target.clear()
    target.update(content)
