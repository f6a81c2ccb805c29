"""The one tensor of a model's inputs that is looked at, and how to ask the model about others in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.errors import UsageError
from torch_debugger.pictures.devices import refuse_another_device
from torch_debugger.pictures.runs_of_models import Inputs, pass_to


@dataclass(frozen=True)
class MainInput:
    """`tensor` stands somewhere in `inputs`; other tensors with as many rows belong to the same examples."""

    inputs: Any
    tensor: torch.Tensor

    @property
    def count(self) -> int:
        return len(self.tensor)

    def exchanged_for(self, new: torch.Tensor, rows: torch.Tensor | None = None) -> Any:
        """The inputs with another tensor in its place, whose rows come from these examples."""

        def change(each: torch.Tensor) -> torch.Tensor:
            if each is self.tensor:
                return new
            if rows is not None and each.dim() and len(each) == self.count:
                return each[rows.to(each.device)]
            return each.detach().clone()

        return exchanged(self.inputs, change)

    def ask(self, model: nn.Module, new: torch.Tensor | None = None, rows: torch.Tensor | None = None) -> Any:
        """The model's answer; it may write into what it is given."""
        tensor = self.tensor.detach() if new is None else new
        return pass_to(model, self.exchanged_for(tensor.clone(), rows))


def main_input(
    model: nn.Module, inputs: Inputs, fits: Callable[[torch.Tensor], bool], wanted: str
) -> MainInput:
    """The first tensor that fits; a tokenizer's batch becomes a dictionary."""
    inputs = dict(inputs) if hasattr(inputs, "keys") else inputs
    tensors = list(tensors_in(inputs))
    if not tensors:
        raise UsageError(
            f"expected {wanted} as a tensor, but got {type(inputs).__name__} without a tensor in it."
        )
    refuse_another_device(model, tensors)
    for tensor in tensors:
        if fits(tensor):
            if not len(tensor):
                raise UsageError(f"expected {wanted}, but the batch is empty: {list(tensor.shape)}.")
            return MainInput(inputs, tensor)
    shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors)
    raise UsageError(f"expected {wanted}, but got {shapes}.")


def with_batch_of_one(given: MainInput) -> MainInput:
    """One example as a batch of one."""
    one = given.tensor.unsqueeze(0)
    return MainInput(exchanged(given.inputs, lambda each: one if each is given.tensor else each), one)
