"""Running a user's model for a picture: in evaluation mode, on copies, and everything put back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from torch_debugger.model.hooks import has_forward, listening, without_global_hooks
from torch_debugger.model.layers import Layers, chosen_layers, clean_path, inner_model
from torch_debugger.model.nested_tensors import copied, exchanged, first_tensor, tensors_in
from torch_debugger.model.reruns import as_if_never, evaluating
from torch_debugger.system.errors import UsageError

Inputs = Any  # a tensor, a tuple or list of positional arguments, a dictionary of keyword arguments
Layer = str | nn.Module


@contextlib.contextmanager
def for_a_picture(model: nn.Module, *, gradients: bool = False, present_mode: bool = False) -> Iterator[nn.Module]:
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


# What a model is given for a picture: where it lies, how many samples it has, and a single one as a batch.
def as_batch(model: nn.Module, inputs: Inputs) -> Inputs:
    """Refuses what lies on another device than the model. A single image [channels, height, width] for a model
    that begins with a convolution becomes a batch of one."""
    refuse_another_device(model, tensors_in(dict(inputs) if hasattr(inputs, "keys") else inputs))
    if isinstance(inputs, torch.Tensor) and _is_single(model, inputs):
        return inputs.unsqueeze(0)
    return inputs


def _is_single(model: nn.Module, tensor: torch.Tensor) -> bool:
    first = next((module for module in model.modules() if isinstance(module, (_ConvNd, nn.Linear, nn.Embedding))), None)
    if not isinstance(first, _ConvNd) or first.transposed:
        return False
    return tensor.dim() == first.weight.dim() - 1 and tensor.shape[0] == first.in_channels


def image_size(inputs: Inputs) -> tuple[int, int] | None:
    """Height and width, where the model is given images."""
    tensor = first_tensor(dict(inputs) if hasattr(inputs, "keys") else inputs)
    if tensor is None or tensor.dim() not in (4, 5):
        return None
    last = tensor.shape[-1] in (1, 3) and tensor.shape[1] > 4  # [N, H, W, C]
    return (tensor.shape[-3], tensor.shape[-2]) if last else (tensor.shape[-2], tensor.shape[-1])


def chosen_samples(sample: int | Any, count: int) -> list[int]:
    wanted = [sample] if isinstance(sample, int) else [int(each) for each in sample]
    for each in wanted:
        if not -count <= each < count:
            raise UsageError(f"there is no sample {each}: the layer gave {count}, 0 to {count - 1}.")
    return [each % count for each in wanted]


# The one tensor of a model's inputs that is looked at, and how to ask the model about others in its place.
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


def main_input(model: nn.Module, inputs: Inputs, fits: Callable[[torch.Tensor], bool], wanted: str) -> MainInput:
    """The first tensor that fits; a tokenizer's batch becomes a dictionary."""
    inputs = dict(inputs) if hasattr(inputs, "keys") else inputs
    tensors = list(tensors_in(inputs))
    if not tensors:
        raise UsageError(f"expected {wanted} as a tensor, but got {type(inputs).__name__} without a tensor in it.")
    refuse_another_device(model, tensors)
    for tensor in tensors:
        if fits(tensor):
            if not len(tensor):
                raise UsageError(f"expected {wanted}, but the batch is empty: {list(tensor.shape)}.")
            return MainInput(inputs, tensor)
    shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors)
    raise UsageError(f"expected {wanted}, but got {shapes}.")


def with_batch_of_one(model_input: MainInput) -> MainInput:
    """One example as a batch of one."""
    one = model_input.tensor.unsqueeze(0)
    return MainInput(exchanged(model_input.inputs, lambda each: one if each is model_input.tensor else each), one)


# One run of a model with ears on several of its layers, in the order in which they are called.
Heard = TypeVar("Heard")
SeveralLayers = Layers


def record_layers(
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
    recorded: dict[str, Heard] = {}

    def listen(path: str, module: nn.Module, arguments: Any, output: Any) -> None:
        tensor = main_tensor(output, module)
        if tensor is not None and tensor.numel():
            recorded[path.partition("#")[0] if last_only else path] = keep(module, tensor.detach())

    tensor = first_tensor(dict(inputs) if hasattr(inputs, "keys") else inputs)
    with for_a_picture(model) as inner:
        chosen = several_layers(inner, layers)
        if tensor is not None and not tensor.numel():
            raise UsageError(f"expected a sample to look at, but the input is empty: {list(tensor.shape)}.")
        with listening(chosen, listen):
            call(inner, as_batch(inner, inputs))
    # Of a pattern or a class some may stay silent; what was named must speak.
    named = [layers] if isinstance(layers, (str, type, nn.Module)) else list(layers or ())
    for path in chosen:
        if path not in recorded and (not recorded or path in named):
            raise UsageError(f"layer `{path}` was not called, or gave no tensor, for this input.")
    return recorded


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
    for packed in (output, output[0] if isinstance(output, tuple) and output else None):
        if isinstance(packed, PackedSequence):
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


# A model on one device and its input on another: said, and nothing is moved.
def refuse_another_device(model: nn.Module, tensors: Iterable[torch.Tensor]) -> None:
    parameter = next(model.parameters(), None)
    if parameter is None:
        return
    if parameter.device.type == "meta":
        raise UsageError("the model is on meta, where weights have no values: load it onto a device first.")
    for tensor in tensors:
        if tensor.device != parameter.device:
            raise UsageError(
                f"the model is on {parameter.device}, but the input on {tensor.device}:"
                f' move it with .to("{parameter.device}").'
            )


# One image where a batch was expected: the exception it leads to, explained.
@contextlib.contextmanager
def one_image_explained(inputs: Inputs) -> Iterator[None]:
    """A model that takes single images is left alone: only where it raises, that is the likely reason."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError) as error:
        if isinstance(inputs, torch.Tensor) and inputs.dim() == 3 and inputs.shape[0] in (1, 3):
            raise UsageError(
                f"the model failed on an input of shape {list(inputs.shape)}, which looks like one image: "
                "give a batch, `image[None]`."
            ) from error
        raise
