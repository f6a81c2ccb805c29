"""Frozen layers whose weights are still what their initialization drew: looked at once, at the first loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.initial_draws import Draw, initial_draws
from torch_debugger.anatomy.sources import class_source, nodes_of, place_at, tree_of, user_files
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FrozenAtRandom, Place
from torch_debugger.stats.summary import measurable, sampled
from torch_debugger.stats.unseen import no_grad

_LOADERS = frozenset({"load_state_dict", "from_pretrained", "load_from_checkpoint", "load_checkpoint"})


@dataclass(frozen=True)
class _Layer:
    path: str
    elements: int
    draws: tuple[Draw, ...]


class FrozenLayers:
    SMALLEST = 512  # values: of fewer, no distribution can be told
    MOST = 16  # layers looked at of one model, the largest

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self.roots = roots
        self._looked: set[str] = set()

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        for root, module in self.roots.alive():
            if root.trained and root.name not in self._looked:
                self._looked.add(root.name)
                self._look_at(root, module)

    @no_grad()
    def _look_at(self, root: Root, module: nn.Module) -> None:
        if not any(p.requires_grad for p in module.parameters()):
            return  # a teacher, a target network
        found = sorted(_frozen(module, root.name), key=lambda each: -each[1].numel())[: self.MOST]
        if sum(weight.numel() for _, weight, _ in found) < self.SMALLEST or _is_made_frozen(module, found):
            return
        layers = [_Layer(path, weight.numel(), initial_draws(owner, weight)) for path, weight, owner in found]
        numbers = torch.stack([_numbers(weight).to(found[0][1].device) for _, weight, _ in found])
        total = sum(p.numel() for p in module.parameters())
        step = self.watch.step
        self.watch.transfer.send(
            numbers, lambda rows: self._tell(root.name, total, layers, rows.tolist(), step)
        )

    def _tell(self, root: str, total: int, layers: list[_Layer], rows: list[list[float]], step: int) -> None:
        fitting = [_fitting(layer, *row) for layer, row in zip(layers, rows, strict=True)]
        draw = fitting[0]
        if draw is None or None in fitting:
            return  # somebody has loaded or trained them
        self.watch.emit(
            FrozenAtRandom(
                root=root,
                parts=_parts([layer.path for layer in layers], root),
                elements=sum(layer.elements for layer in layers),
                of=total,
                layers=len(layers),
                drawn=draw.text,
                spread=rows[0][1],
                expected=draw.spread,
                place=_line(_freezes),
                loading=_line(_loads),
                step=step,
            )
        )


def _frozen(module: nn.Module, root: str) -> Iterator[tuple[str, nn.Parameter, nn.Module]]:
    """(path, weight, layer); not those beside which trained weights stand, as adapters do."""
    for path, child in module.named_modules():
        own = list(child.parameters(recurse=False))
        for weight in own if not any(p.requires_grad for p in own) else ():
            if weight.dim() >= 2 and weight.numel() >= 64 and measurable(weight):
                yield f"{root}.{path}" if path else root, weight, child


def _is_made_frozen(module: nn.Module, found: list[tuple[str, nn.Parameter, nn.Module]]) -> bool:
    """Fixed random features are frozen by the class that makes them."""
    layers = {id(layer) for _, _, layer in found}
    owners = [child for child in module.modules() if any(id(part) in layers for part in child.modules())]
    for kind in {type(owner) for owner in owners}:
        source = class_source(kind)
        makers = [node for node in source[1].body if getattr(node, "name", "") == "__init__"] if source else []
        if any(_freezes(node) for maker in makers for node in ast.walk(maker)):
            return True
    return False


def _numbers(weight: torch.Tensor) -> torch.Tensor:
    """[mean, standard deviation, kurtosis, largest]; of a large one, of a sample, but for the largest."""
    values = sampled(weight, 2**16).float()
    mean, squares = values.mean(), values.square()
    spread = squares.mean().sqrt()
    return torch.stack(
        (mean, spread, squares.square().mean() / spread.pow(4), weight.detach().abs().amax().float())
    )


def _fitting(layer: _Layer, mean: float, spread: float, kurtosis: float, largest: float) -> Draw | None:
    count = min(layer.elements, 2**16)
    return next((draw for draw in layer.draws if draw.fits(count, mean, spread, kurtosis, largest)), None)


def _parts(paths: list[str], root: str) -> tuple[str, ...]:
    """net.backbone for net.backbone.0 and net.backbone.2"""
    depth = root.count(".") + 2
    return tuple(sorted({".".join(path.split(".")[:depth]) for path in paths}))


def _line(is_it: Any) -> Place:
    for file in user_files():
        tree = tree_of(file)
        for node in nodes_of(tree) if tree is not None else ():
            if isinstance(node, ast.stmt | ast.expr) and is_it(node):
                return place_at(file, node.lineno)
    return Place()


def _freezes(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=False)):
            return True
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=arguments, keywords=keywords):
            values = [*arguments, *(keyword.value for keyword in keywords)]
            return any(isinstance(value, ast.Constant) and value.value is False for value in values)
    return False


def _loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOADERS
