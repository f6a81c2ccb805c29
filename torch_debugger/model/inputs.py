"""How a model may be called with given inputs: a tuple is its arguments, a dictionary maybe its keywords."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.model.nested_tensors import copied, dtype_name, exchanged, first_tensor, tensors_in
from torch_debugger.model.shape_tensors import without_values
from torch_debugger.system.errors import UsageError


class Call(NamedTuple):
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


def calls_for(model: nn.Module, inputs: Any) -> list[Call]:
    """The likeliest first; those that do not fit the signature of forward are left out where any does."""
    if isinstance(inputs, Call):
        return [inputs]
    ways = list(_ways(inputs))
    fitting = [way for way in ways if takes(model, way)]
    return fitting or ways[:1]


def own_call(model: nn.Module, call: Call) -> Call:
    """With copies on the model's device, so that forward may write into them."""
    devices = {tensor.device for tensor in (*model.parameters(), *model.buffers())}
    arguments, keywords = copied(call.arguments), copied(call.keywords)
    if len(devices) == 1:
        device = devices.pop()
        arguments, keywords = (exchanged(each, lambda tensor: _moved(tensor, device)) for each in (arguments, keywords))
    return Call(arguments, keywords)


def _moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    if tensor.device == device:
        return tensor
    return tensor.detach().to(device).requires_grad_(tensor.requires_grad)


def argument_names(model: nn.Module, call: Call) -> dict[str, Any]:
    """x, mask: as forward calls them; x_0, x_1 for those of *x."""
    signature = _signature(model)
    try:
        bound = signature.bind(*call.arguments, **call.keywords).arguments if signature else {}
    except TypeError:
        bound = {}
    if signature is None or not bound:
        return {f"input_{place}": value for place, value in enumerate(call.arguments)} | call.keywords
    names: dict[str, Any] = {}
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names |= {f"{name}_{place}": item for place, item in enumerate(value)}
        else:
            names |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    return names


def _ways(inputs: Any) -> Iterator[Call]:
    if inputs is None:
        yield Call((), {})
        return
    if type(inputs) is tuple or (type(inputs) is list and first_tensor(inputs) is not None):
        yield Call(tuple(inputs), {})
        if inputs and _are_keywords(inputs[-1]):
            yield Call(tuple(inputs[:-1]), dict(inputs[-1]))
    if _are_keywords(inputs):
        yield Call((), dict(inputs))
    yield Call((inputs,), {})


def _are_keywords(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def takes(model: nn.Module, call: Call) -> bool:
    """As far as the signature of forward tells."""
    signature = _signature(model)
    if signature is None:
        return True
    try:
        signature.bind(*call.arguments, **call.keywords)
    except TypeError:
        return False
    return True


def _signature(model: nn.Module) -> inspect.Signature | None:
    try:
        return inspect.signature(model.forward)
    except (TypeError, ValueError):  # written in C++
        return None


# What a model is to be called with: tensors, or only their sizes.
def calls_to_try(
    model: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any], input_size: Any = None
) -> list[Call]:
    """The likeliest first; where sizes are given, also with whole numbers in place of floats: tokens."""
    if len(inputs) == 1 and isinstance(inputs[0], (int, float, str)) and not isinstance(inputs[0], bool):
        raise UsageError(f"expected a tensor or a size such as (1, 3, 224, 224) as input, but got {inputs[0]!r}.")
    if input_size is not None:
        sizes = read_sizes(input_size)
        if inputs:
            raise UsageError("flops takes inputs or input_size, not both.")
        inputs, keywords = ((), keywords | sizes) if isinstance(sizes, dict) else (tuple(sizes), keywords)
    if not inputs and not keywords and not takes(model, Call((), {})):
        raise UsageError(
            "flops needs what forward takes: flops(model, images), or its size: flops(model, (1, 3, 224, 224))."
        )
    calls: list[Call] = []
    for dtype in (_dtype(model), torch.int64):
        arguments = tuple(_tensor(item, dtype, model) if is_size(item) else item for item in inputs)
        named = {key: _tensor(item, dtype, model) if is_size(item) else item for key, item in keywords.items()}
        if len(arguments) == 1 and not named and not isinstance(arguments[0], torch.Tensor):
            # A single dictionary, tuple or list holds the arguments themselves, or is one: a list of images.
            calls += calls_for(model, arguments[0])
        else:
            calls.append(Call(arguments, named))
        if not any(is_size(item) for item in (*inputs, *keywords.values())):
            break
    own = next((value.device for value in model.parameters()), None)
    for tensor in tensors_in(tuple(calls[0])):
        if own is not None and own != tensor.device and "meta" not in (own.type, tensor.device.type):
            raise UsageError(
                f"the model's parameters are on {own}, but an input is on {tensor.device}: move one of them."
            )
    return calls


def is_size(value: Any) -> bool:
    """(1, 3, 224, 224)"""
    plain = type(value) in (tuple, list, torch.Size) and len(value) > 0
    return plain and all(type(length) is int for length in value)


def _tensor(size: Any, dtype: torch.dtype, model: nn.Module) -> torch.Tensor:
    """On meta: it costs nothing, whatever its size."""
    if any(length < 0 for length in size):
        raise UsageError(f"a size has no negative lengths, but {tuple(size)} came: write the batch size out.")
    return torch.empty(tuple(size), dtype=dtype, device="meta")


def _dtype(model: nn.Module) -> torch.dtype:
    floats = (value.dtype for value in model.parameters() if value.is_floating_point())
    return next(floats, torch.get_default_dtype())


# What a model may be called with, given sizes or the inputs themselves: the likeliest first.
Size = tuple[int, ...]
Sizes = dict[str, Size] | list[Size]
_CPU = torch.device("cpu")
_MOST_VALUES = 2**20
_MOST_KINDS = 8  # combinations of float and long inputs that are tried


@dataclass(frozen=True)
class Blank:
    """A tensor that is made when it is needed."""

    size: Size
    dtype: torch.dtype

    def made(self, device: torch.device) -> torch.Tensor:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            return torch.rand(self.size, dtype=self.dtype, device=device)
        return torch.zeros(self.size, dtype=self.dtype, device=device)  # an index that always exists


class Attempt(NamedTuple):
    call: Call
    note: str = ""  # what of it was a guess
    batched: bool = False  # a batch dimension was put in front of the sizes given

    def made(self, device: torch.device | None, on_shapes: bool) -> Call:
        """On this device; tensors that were given are copied."""

        def own(value: Any) -> torch.Tensor:
            if on_shapes and isinstance(value, Blank):
                # Whole numbers have values here too, since forward may ask for them: is any token masked?
                is_float = value.dtype.is_floating_point or value.dtype.is_complex
                valueless = is_float or math.prod(value.size) > _MOST_VALUES
                value = torch.empty(value.size, dtype=value.dtype, device="meta") if valueless else value.made(_CPU)
            if on_shapes:
                return without_values(value)
            if isinstance(value, Blank):
                return value.made(device or _CPU)
            own_copy: torch.Tensor = value.detach().clone()
            return own_copy.requires_grad_(value.requires_grad)

        kinds = (Blank, torch.Tensor)
        return Call(exchanged(self.call.arguments, own, kinds), exchanged(self.call.keywords, own, kinds))


def attempts_for_data(model: nn.Module, data: Any, keywords: dict[str, Any]) -> list[Attempt]:
    """A dictionary is keywords, a list or tuple positional arguments, all else one argument."""
    ways = calls_for(model, tuple(data) if isinstance(data, list) else data)
    return [Attempt(Call(call.arguments, call.keywords | keywords)) for call in ways]


def attempts_for_sizes(
    model: nn.Module,
    sizes: Sizes,
    dtypes: Sequence[torch.dtype] | None,
    batch_dim: int | None,
    batch_size: int | None,
    keywords: dict[str, Any],
) -> list[Attempt]:
    """As they are (torchinfo's form), then without a batch dimension (torchsummary's); floats, then indices."""
    batch = batch_size if batch_size is not None and batch_size > 0 else 1
    forms: list[tuple[Sizes, bool]] = []
    if batch_dim is not None:
        forms.append((_each(sizes, lambda size: _inserted(size, batch_dim)), False))
    else:
        if batch_size is None:
            forms.append((sizes, False))
        forms.append((_each(sizes, lambda size: (batch, *size)), True))
    return [
        Attempt(_call(form, kinds, keywords), _note(form, kinds, batched, batch, guessed=dtypes is None), batched)
        for (form, batched), kinds in itertools.product(forms, _kinds(model, len(sizes), dtypes))
    ]


def read_sizes(input_size: Any) -> Sizes:
    """(1, 3, 32, 32), [1, 3, 32, 32], several of them in a list or tuple, or by name in a dictionary."""
    try:
        if isinstance(input_size, dict):
            return {str(name): _size(size) for name, size in input_size.items()}
        if isinstance(input_size, (list, tuple)) and any(isinstance(one, (list, tuple)) for one in input_size):
            return [_size(size) for size in input_size]
        return [_size(input_size)]
    except (TypeError, ValueError):
        raise UsageError(
            f"input_size={input_size!r} is no size: it is a tuple of positive whole numbers such as "
            "(1, 3, 224, 224), or a list of such tuples for several inputs."
        ) from None


def _size(size: Any) -> Size:
    lengths = tuple(operator.index(length) for length in (size if hasattr(size, "__iter__") else (size,)))
    if any(length < 1 for length in lengths):
        raise ValueError
    return lengths


def _each(sizes: Sizes, change: Any) -> Sizes:
    if isinstance(sizes, dict):
        return {name: change(size) for name, size in sizes.items()}
    return [change(size) for size in sizes]


def _inserted(size: Size, place: int) -> Size:
    place = place if place >= 0 else len(size) + 1 + place
    return (*size[:place], 1, *size[place:])


def _kinds(model: nn.Module, count: int, dtypes: Sequence[torch.dtype] | None) -> list[tuple[torch.dtype, ...]]:
    if dtypes is not None:
        if len(dtypes) not in (1, count):
            raise UsageError(f"dtypes has {len(dtypes)} entries for {count} inputs: it takes one for each.")
        return [tuple(dtypes) if len(dtypes) == count else (dtypes[0],) * count]
    return list(itertools.islice(itertools.product((_dtype(model), torch.long), repeat=count), _MOST_KINDS))


def _call(sizes: Sizes, kinds: tuple[torch.dtype, ...], keywords: dict[str, Any]) -> Call:
    if isinstance(sizes, dict):
        blanks = {name: Blank(size, kind) for (name, size), kind in zip(sizes.items(), kinds, strict=True)}
        return Call((), blanks | keywords)
    return Call(tuple(Blank(size, kind) for size, kind in zip(sizes, kinds, strict=True)), keywords)


def _note(sizes: Sizes, kinds: tuple[torch.dtype, ...], batched: bool, batch: int, guessed: bool) -> str:
    parts = []
    if batched:
        parts.append(f"input_size was taken without the batch dimension: one of {batch} was put in front.")
    if guessed and torch.long in kinds:
        words = ", ".join(dtype_name(kind) for kind in kinds)
        parts.append(f"dtypes was not given: the model takes {words}.")
    return " ".join(parts)
