"""Running a user's model for a picture: in evaluation mode, on copies, and everything put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.layers import inner_model, one_layer
from torch_debugger.anatomy.listening import listening
from torch_debugger.anatomy.nested import copied, first_tensor
from torch_debugger.anatomy.unseen_runs import as_if_never, evaluating
from torch_debugger.errors import UsageError

Inputs = Any  # a tensor, a tuple or list of positional arguments, a dictionary of keyword arguments
Layer = str | nn.Module


@contextlib.contextmanager
def for_a_picture(
    model: nn.Module, *, gradients: bool = False, present_mode: bool = False
) -> Iterator[nn.Module]:
    """The model inside its wrappers, run as if it had never been; also inside `inference_mode`. In evaluation
    mode, unless what is to be seen belongs to the mode it is in."""
    inner = inner_model(model)
    with (
        torch.inference_mode(False),  # first: copies that are made inside of it take part in no gradient
        as_if_never(inner),
        contextlib.nullcontext() if present_mode else evaluating(inner),
        without_global_hooks(),
        torch.set_grad_enabled(gradients),
    ):
        yield inner


def call(model: nn.Module, inputs: Inputs) -> Any:
    """Dictionaries (also those of a tokenizer) are keywords, tuples and lists positional arguments."""
    return pass_to(model, copied(dict(inputs) if hasattr(inputs, "keys") else inputs))


def pass_to(model: nn.Module, inputs: Inputs) -> Any:
    """The same without copies: where gradients are to reach what the inputs were made from."""
    if hasattr(inputs, "keys"):
        return model(**dict(inputs))
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


def layer_outputs(model: nn.Module, inputs: Inputs, layers: Sequence[Layer]) -> dict[str, torch.Tensor]:
    """What each layer gave, by its path; a layer that is called several times gives its last."""
    seen: dict[str, torch.Tensor] = {}

    def keep(path: str, module: nn.Module, given: Any, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None:
            seen[path.partition("#")[0]] = tensor.detach().clone()

    with for_a_picture(model) as inner:
        chosen = dict(one_layer(inner, layer) for layer in layers)
        with listening(chosen, keep):
            call(inner, inputs)
    for path in chosen:
        if path not in seen:
            raise UsageError(f"layer `{path}` was not called, or gave no tensor, for this input.")
    return {path: seen[path] for path in chosen}
