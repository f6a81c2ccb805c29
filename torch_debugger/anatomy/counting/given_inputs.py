"""What a model is to be called with: tensors, or only their sizes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.graph_calls import Call, calls_for, takes
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.summing.attempts import Sizes, read_sizes
from torch_debugger.errors import UsageError


def calls_to_try(
    model: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any], input_size: Any = None
) -> list[Call]:
    """The likeliest first; where sizes are given, also with whole numbers in place of floats: tokens."""
    _check_kinds(inputs)
    if input_size is not None:
        inputs, keywords = _with_sizes(inputs, keywords, read_sizes(input_size))
    _check_that_there_are_any(model, inputs, keywords)
    calls: list[Call] = []
    for dtype in (_dtype(model), torch.int64):
        given = tuple(_tensor(item, dtype, model) if is_size(item) else item for item in inputs)
        named = {key: _tensor(item, dtype, model) if is_size(item) else item for key, item in keywords.items()}
        calls += _calls(model, given, named)
        if not any(is_size(item) for item in (*inputs, *keywords.values())):
            break
    _check_devices(model, calls[0])
    return calls


def is_size(value: Any) -> bool:
    """(1, 3, 224, 224)"""
    plain = type(value) in (tuple, list, torch.Size) and len(value) > 0
    return plain and all(type(length) is int for length in value)


def _with_sizes(
    inputs: tuple[Any, ...], keywords: dict[str, Any], sizes: Sizes
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if inputs:
        raise UsageError("flops takes inputs or input_size, not both.")
    return ((), keywords | sizes) if isinstance(sizes, dict) else (tuple(sizes), keywords)


def _calls(model: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> list[Call]:
    """A single dictionary, tuple or list holds the arguments themselves, or is one: a list of images."""
    if len(given) == 1 and not named and not isinstance(given[0], torch.Tensor):
        return calls_for(model, given[0])
    return [Call(given, named)]


def _tensor(size: Any, dtype: torch.dtype, model: nn.Module) -> torch.Tensor:
    """On meta: it costs nothing, whatever its size."""
    if any(length < 0 for length in size):
        raise UsageError(f"a size has no negative lengths, but {tuple(size)} came: write the batch size out.")
    return torch.empty(tuple(size), dtype=dtype, device="meta")


def _dtype(model: nn.Module) -> torch.dtype:
    floats = (value.dtype for value in model.parameters() if value.is_floating_point())
    return next(floats, torch.get_default_dtype())


def _check_kinds(inputs: tuple[Any, ...]) -> None:
    for item in inputs:
        if isinstance(item, (int, float, str)) and not isinstance(item, bool) and len(inputs) == 1:
            raise UsageError(
                f"expected a tensor or a size such as (1, 3, 224, 224) as input, but got {item!r}."
            )


def _check_that_there_are_any(model: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    if not inputs and not keywords and not takes(model, Call((), {})):
        raise UsageError(
            "flops needs what forward takes: flops(model, images), or its size: flops(model, (1, 3, 224, 224))."
        )


def _check_devices(model: nn.Module, call: Call) -> None:
    own = next((value.device for value in model.parameters()), None)
    for tensor in tensors_in(tuple(call)):
        if own is not None and own != tensor.device and "meta" not in (own.type, tensor.device.type):
            raise UsageError(
                f"the model's parameters are on {own}, but an input is on {tensor.device}: move one of them."
            )
