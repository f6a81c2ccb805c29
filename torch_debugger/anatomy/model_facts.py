"""A model told as a record: its modules with the lines that make them, and its parameters."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger.anatomy.places import class_place, constructor_places, forward_place
from torch_debugger.records import ModelFact, ModuleFact, ParameterFact, Place


def describe_model(module: nn.Module, name: str, step: int) -> ModelFact:
    places = constructor_places(module, name)
    modules = []
    for path, child in module.named_modules():
        full = f"{name}.{path}" if path else name
        own = sum(parameter.numel() for parameter in child.parameters(recurse=False) if not _lazy(parameter))
        modules.append(ModuleFact(full, type(child).__name__, places.get(full) or Place(module=full), own))
    parameters = tuple(
        ParameterFact(
            f"{name}.{path}",
            () if _lazy(parameter) else tuple(parameter.shape),
            str(parameter.dtype).removeprefix("torch."),
            str(parameter.device),
            parameter.requires_grad,
        )
        for path, parameter in module.named_parameters()
    )
    return ModelFact(
        name,
        type(module).__name__,
        class_place(type(module)),
        tuple(modules),
        parameters,
        step,
        forward_place(module),
    )


def _lazy(parameter: torch.Tensor) -> bool:
    return nn.parameter.is_lazy(parameter)
