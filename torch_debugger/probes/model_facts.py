"""A model described: its modules in the order of definition, with the lines that make them."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger.anatomy.places import class_place, constructor_places, forward_place
from torch_debugger.anatomy.weight_fills import random_fill
from torch_debugger.records import ModelFact, ModuleFact, ParameterFact, Place


def describe_model(module: nn.Module, name: str, step: int) -> ModelFact:
    places = constructor_places(module, name)
    modules = []
    for path, child in module.named_modules():
        full = f"{name}.{path}" if path else name
        own = sum(parameter.numel() for parameter in child.parameters(recurse=False) if not _lazy(parameter))
        place = places.get(full) or Place(module=full)
        modules.append(ModuleFact(full, type(child).__name__, place, own, _settings(child)))
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
        random_fill(next((each.place.file for each in modules if each.place.file), None)) or Place(),
    )


def _settings(module: nn.Module) -> dict[str, float]:
    """Numbers that decide how a layer behaves, where its class is known to mean them so."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return {"p": float(module.p)}
    if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.momentum is not None:
        return {"momentum": float(module.momentum), "eps": float(module.eps)}
    if isinstance(module, (nn.LayerNorm, nn.GroupNorm)):
        return {"eps": float(module.eps)}
    if isinstance(module, nn.DataParallel):
        return {"devices": float(len(module.device_ids))}  # none on the CPU, where it does nothing
    return {}


def _lazy(parameter: torch.Tensor) -> bool:
    return nn.parameter.is_lazy(parameter)
