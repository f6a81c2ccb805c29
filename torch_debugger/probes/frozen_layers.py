"""Frozen layers whose weights are still what their initialization drew: seen at the first loss, and once more.

A part may be frozen for one phase of a step, as the discriminator is while the generator learns, and a target
network follows another one without any gradient. So it is told only of what is frozen at every look of some
steps, and whose values have not changed by then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.copies import copied_siblings
from torch_debugger.anatomy.freezing import freezes, may_unfreeze
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
    weight: int  # its id
    elements: int
    draws: tuple[Draw, ...]


@dataclass
class _Candidate:
    """The frozen layers of a model as they were at the first loss."""

    layers: list[_Layer]
    elements: int  # of the whole model
    step: int
    samples: list[torch.Tensor]
    rows: list[list[float]]  # their numbers, once they have come


class FrozenLayers:
    SMALLEST = 512  # values: of fewer, no distribution can be told
    MOST = 16  # layers looked at of one model, the largest
    SAMPLE = 4096  # values of each, to see whether they change
    WAIT = 4  # steps
    WAIT_FOR_PHASES = 100  # where some line switches gradients on

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self.roots = roots
        self._looked: dict[str, _Candidate | None] = {}  # by root

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        for root, module in self.roots.alive():
            if root.trained and root.name not in self._looked:
                self._looked[root.name] = self._look_at(root, module)
            elif root.trained and (candidate := self._looked[root.name]) is not None:
                self._looked[root.name] = self._look_again(root, module, candidate)

    @no_grad()
    def _look_at(self, root: Root, module: nn.Module) -> _Candidate | None:
        if not any(p.requires_grad for p in module.parameters()):
            return None  # a teacher, a target network
        found = sorted(_frozen(module, root.name), key=lambda each: -each[1].numel())[: self.MOST]
        if sum(weight.numel() for _, weight, _ in found) < self.SMALLEST or _is_made_frozen(module, found):
            return None
        layers = [_Layer(path, id(w), w.numel(), initial_draws(owner, w)) for path, w, owner in found]
        total = sum(p.numel() for p in module.parameters())
        samples = [sampled(weight, self.SAMPLE).clone() for _, weight, _ in found]
        candidate = _Candidate(layers, total, self.watch.step, samples, [])
        originals = _originals(module)
        numbers = torch.stack([_numbers(w, originals.get(id(w))).to(found[0][1].device) for _, w, _ in found])
        self.watch.transfer.send(numbers, lambda rows: candidate.rows.extend(rows.tolist()))
        return candidate

    @no_grad()
    def _look_again(self, root: Root, module: nn.Module, candidate: _Candidate) -> _Candidate | None:
        frozen = {id(weight): weight for _, weight, _ in _frozen(module, root.name)}
        weights = [frozen.get(layer.weight) for layer in candidate.layers]
        now = [weight for weight in weights if weight is not None]
        if len(now) < len(weights):
            return None  # trained in another phase, or replaced
        age = self.watch.step - candidate.step
        if age < self.WAIT or (age < self.WAIT_FOR_PHASES and _line(may_unfreeze)):
            return candidate
        pairs = zip(now, candidate.samples, strict=True)
        changed = [(sampled(weight, self.SAMPLE) != before).any() for weight, before in pairs]
        self.watch.transfer.send(
            torch.stack([each.float().to(now[0].device) for each in changed]),
            lambda changes: None if any(changes.tolist()) else self._tell(root.name, candidate),
        )
        return None

    def _tell(self, root: str, candidate: _Candidate) -> None:
        layers, rows = candidate.layers, candidate.rows
        fitting = [_fitting(layer, *row) for layer, row in zip(layers, rows, strict=True)]
        draw = fitting[0]
        if draw is None or None in fitting:
            return  # somebody has loaded or trained them
        self.watch.emit(
            FrozenAtRandom(
                root=root,
                parts=_parts([layer.path for layer in layers], root),
                elements=sum(layer.elements for layer in layers),
                of=candidate.elements,
                layers=len(layers),
                drawn=draw.text,
                spread=rows[0][1],
                expected=draw.spread,
                place=_line(freezes),
                loading=_line(_loads),
                step=candidate.step,
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
        if any(freezes(node) for maker in makers for node in ast.walk(maker)):
            return True
    return False


def _originals(module: nn.Module) -> dict[int, torch.Tensor]:
    """id of a weight -> that of a trained part beside it, of which it may be a copy, as target networks are."""
    trained = {id(p) for p in module.parameters() if p.requires_grad}
    parts = [(copy, part) for _, copy, _, part in copied_siblings(module, trained)]
    pairs = [pair for copy, part in parts for pair in zip(copy.parameters(), part.parameters(), strict=False)]
    return {id(one): other for one, other in pairs if one.device == other.device}


def _numbers(weight: torch.Tensor, original: torch.Tensor | None) -> torch.Tensor:
    """[mean, standard deviation, kurtosis, largest, is no copy]; all but the largest of a sample."""
    values = sampled(weight, 2**16).float()
    mean, squares = values.mean(), values.square()
    spread = squares.mean().sqrt()
    own = torch.ones_like(mean) if original is None else (values != sampled(original, 2**16)).any().float()
    return torch.stack(
        (mean, spread, squares.square().mean() / spread.pow(4), weight.detach().abs().amax().float(), own)
    )


def _fitting(
    layer: _Layer, mean: float, spread: float, kurtosis: float, largest: float, own: float
) -> Draw | None:
    count, numbers = min(layer.elements, 2**16), (mean, spread, kurtosis, largest)
    return next((draw for draw in layer.draws if own and draw.fits(count, *numbers)), None)


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


def _loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOADERS
