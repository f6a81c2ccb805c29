"""A trained model that no optimizer holds, but whose parameters look like those one does hold."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.constructors import constructor_places
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.records import Place


@dataclass(frozen=True)
class Twin:
    name: str
    place: Place  # the line that makes it


def find_twin(optimizer: Optimizer, optimizers: Optimizers) -> Twin | None:
    """The optimizer was made for a model of these very shapes; this is the one that is trained instead."""
    own = [tuple(p.shape) for group in optimizer.param_groups for p in group["params"]]
    held = optimizers.parameter_ids()
    for root, module in optimizers.looks.roots.alive():
        if root.trained and not _is_held(module, held) and _shapes(module) == own:
            return Twin(root.name, constructor_places(module, root.name).get(root.name) or Place())
    return None


def _is_held(module: nn.Module, held: set[int]) -> bool:
    return any(id(parameter) in held for parameter in module.parameters())


def _shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if not nn.parameter.is_lazy(p)]
