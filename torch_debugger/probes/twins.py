"""A trained model that no optimizer holds, but whose parameters look like those one does hold."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.containers import dotted
from torch_debugger.anatomy.registrations import assignments
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.roots import Root
from torch_debugger.records import Place


@dataclass(frozen=True)
class Twin:
    name: str
    place: Place  # the line that makes it, after the optimizer was made


def find_twin(optimizer: Optimizer, optimizers: Optimizers, made: Place) -> Twin | None:
    """The optimizer was made for a model of these very shapes; this is the one that is trained instead."""
    own = [tuple(p.shape) for group in optimizer.param_groups for p in group["params"]]
    held = optimizers.parameter_ids()
    for root, module in optimizers.looks.roots.alive():
        if _is_trained(root, module) and not _is_held(module, held) and _shapes(module) == own:
            return Twin(root.name, _made_later(root.name, made))
    return None


def _is_trained(root: Root, module: nn.Module) -> bool:
    return root.trained or (root.compiled and any(p.grad is not None for p in module.parameters()))


def _made_later(name: str, made: Place) -> Place:
    """The last line below the optimizer's that assigns the model: net = ..., self.net = ..."""
    tree = tree_of(made.file) if made.file else None
    if tree is None or made.file is None or made.line is None:
        return Place()
    lines = [node.lineno for node, _ in assignments(tree) if _assigns(node, name) and node.lineno > made.line]
    return place_at(made.file, max(lines)) if lines else Place()


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(dotted(target) in (name, f"self.{name}") for target in node.targets)


def _is_held(module: nn.Module, held: Collection[int]) -> bool:
    return any(id(parameter) in held for parameter in module.parameters())


def _shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if not nn.parameter.is_lazy(p)]
