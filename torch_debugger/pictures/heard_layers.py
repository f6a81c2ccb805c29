"""One run of a model with ears on several of its layers, in the order in which they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from torch_debugger.anatomy.forward_methods import has_forward
from torch_debugger.anatomy.layers import Layers, chosen_layers, clean_path
from torch_debugger.anatomy.listening import listening
from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import Inputs, call, for_a_picture
from torch_debugger.pictures.samples import as_batch, refuse_empty

Heard = TypeVar("Heard")
SeveralLayers = Layers


def hear_layers(
    model: nn.Module,
    inputs: Inputs,
    layers: SeveralLayers | None,
    keep: Callable[[nn.Module, torch.Tensor], Heard],
    *,
    last_only: bool = False,
) -> dict[str, Heard]:
    """What `keep` makes of each layer's output in the moment it is there, before anybody writes into it. By the
    path of the call, `act` and `act#2`, or of the layer alone with its last call; None: all layers that hold no
    others."""
    heard: dict[str, Heard] = {}

    def listen(path: str, module: nn.Module, given: Any, output: Any) -> None:
        tensor = main_tensor(output, module)
        if tensor is not None and tensor.numel():
            heard[path.partition("#")[0] if last_only else path] = keep(module, tensor.detach())

    with for_a_picture(model) as inner:
        chosen = several_layers(inner, layers)
        with listening(chosen, listen):
            call(inner, as_batch(inner, refuse_empty(inputs)))
    for path in chosen:
        if path not in heard and (not heard or path in _given_by_path(layers)):
            raise UsageError(f"layer `{path}` was not called, or gave no tensor, for this input.")
    return heard


def _given_by_path(layers: SeveralLayers | None) -> list[Any]:
    """Of a pattern or a class some may stay silent; what was named must speak."""
    return (
        [layers]
        if isinstance(layers, str)
        else []
        if isinstance(layers, (type, nn.Module))
        else list(layers or ())
    )


def several_layers(model: nn.Module, layers: SeveralLayers | None) -> dict[str, nn.Module]:
    if layers is None:
        leaves = [pair for pair in model.named_modules() if not any(True for _ in pair[1].children())]
        return {clean_path(path): module for path, module in leaves}
    found = chosen_layers(model, layers)
    if not found:
        raise UsageError("no layer was given: name one by its path, a pattern, its class or the module itself.")
    chosen = {path: part for path, part in found.items() if has_forward(part)}
    if not chosen:
        raise UsageError("no layer to look at: these hold others and are never called themselves.")
    return chosen


def main_tensor(output: Any, module: nn.Module) -> torch.Tensor | None:
    """The first tensor; of a packed sequence the padded one, samples first."""
    first = output[0] if isinstance(output, tuple) and output else output
    if isinstance(output, PackedSequence) or isinstance(first, PackedSequence):
        packed = output if isinstance(output, PackedSequence) else first
        return pad_packed_sequence(packed, batch_first=True)[0]
    tensor = first_tensor(output)
    if tensor is not None and tensor.dim() == 3 and not samples_first(module):
        return tensor.transpose(0, 1)
    return tensor


def samples_first(module: nn.Module) -> bool:
    """Recurrent and transformer layers of torch take the time first unless they are told otherwise."""
    kinds = (nn.RNNBase, nn.MultiheadAttention)
    inside = isinstance(module, (nn.TransformerEncoder, nn.TransformerDecoder)) or hasattr(module, "self_attn")
    for part in module.modules() if inside else [module]:
        if isinstance(part, kinds):
            return bool(part.batch_first)
    return True
