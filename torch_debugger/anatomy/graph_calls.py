"""How a model may be called with given inputs: a tuple is its arguments, a dictionary maybe its keywords."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.anatomy.nested import copied, exchanged, first_tensor


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
        arguments, keywords = (
            exchanged(each, lambda tensor: _moved(tensor, device)) for each in (arguments, keywords)
        )
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
