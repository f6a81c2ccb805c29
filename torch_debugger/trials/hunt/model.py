"""A model's forward run once more on what it was given: which of its ops made a NaN or Inf?

Runs where the step left off, on the same inputs, weights and random state, and leaves no trace: buffers,
gradients and random state are put back and prints are swallowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import copied, tensors_in
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.records import Origin
from torch_debugger.trials.hunt.hunter import Hunter
from torch_debugger.trials.hunt.states import FINITE, state_of


@dataclass(frozen=True)
class Model:
    """A model as a step left it."""

    module: nn.Module
    paths: Mapping[int, str]  # id of a submodule -> its path
    call: tuple[tuple[Any, ...], dict[str, Any]] | None  # what it was last given
    rng_state: torch.Tensor | None = None  # before that
    device_rng: torch.Tensor | None = None  # of the accelerator, before that
    first_rng: torch.Tensor | None = None  # before the first of several calls; unknown: none
    first_device_rng: torch.Tensor | None = None
    output_gradients: tuple[torch.Tensor | None, ...] = ()  # that came back to what it gave; unknown: none

    def restore_randomness(self, *, first: bool = False) -> None:
        state = self.first_rng if first and self.first_rng is not None else self.rng_state
        if state is not None:
            torch.set_rng_state(state)
        on_device = self.first_device_rng if first and self.first_device_rng is not None else self.device_rng
        if on_device is not None:
            torch.cuda.set_rng_state(on_device)


def find_in_model(model: Model, *, slopes: bool, loss: Callable[[Any], Any] | None = None) -> Origin | None:
    """The op that made a NaN or Inf, in the forward or, with `slopes`, in the backward; None if none did.

    With `loss`, what it makes of the output takes the output's place."""
    if model.call is None:
        return None
    arguments, keywords = copied(model.call)
    hunter = Hunter(model.paths, parameter_names(model.module, model.paths), _names(arguments, keywords))
    with leaving_no_trace(model.module), torch.set_grad_enabled(slopes):
        model.restore_randomness()
        with hunter:
            output = model.module._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
            output = output if loss is None else loss(output)
        found = hunter.origin_of(output)
        if found is None and slopes:
            _run_backward(hunter, model.module, output, model.output_gradients)
            found = hunter.slope()
        return found


def _run_backward(hunter: Hunter, module: nn.Module, output: Any, known: tuple[Any, ...]) -> None:
    """With the gradients that came to the outputs in the step; where they are not known, with ones."""
    outputs = [tensor for tensor in tensors_in(output) if tensor.requires_grad]
    leaves = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not outputs or not leaves:
        return
    arrived = known if len(known) == len(outputs) else (None,) * len(outputs)
    pairs = zip(outputs, arrived, strict=True)
    given = [torch.ones_like(each) if gradient is None else gradient for each, gradient in pairs]
    hunter.backward_apart(outputs, given, leaves)


def parameter_names(module: nn.Module, paths: Mapping[int, str]) -> dict[int, str]:
    """id -> net.fc.weight, of parameters and of buffers"""
    found: dict[int, str] = {}
    for child in module.modules():
        held = [*child.named_parameters(recurse=False), *child.named_buffers(recurse=False)]
        found |= {id(tensor): f"{paths.get(id(child), 'model')}.{name}" for name, tensor in held}
    return found


def _names(arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[int, str]:
    named = [(f"input {number + 1}" if number else "input", value) for number, value in enumerate(arguments)]
    return {
        id(tensor): name
        for name, value in [*named, *keywords.items()]
        for tensor in tensors_in(value)
        if state_of(tensor) != FINITE
    }
