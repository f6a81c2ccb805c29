"""Weights that are not finite: were they born so, or did an update make them?"""

from __future__ import annotations

import functools
import math
import statistics
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.loss_graph import nodes_behind
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.nonfinite import BadWeight, NonFiniteHunt
from torch_debugger.probes.optimizers import Optimizers, group_numbers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.watch import Watch
from torch_debugger.records import HandMadeWeights, Origin, Place, TwinUnits, UntiedWeights
from torch_debugger.source.parameters import constant_fill, drawn_leaf, ties
from torch_debugger.source.statements import attribute_place, setting_of
from torch_debugger.stats.dispatch_modes import item_of, no_grad, own_part
from torch_debugger.stats.summary import sampled
from torch_debugger.stats.transfer import Numbers


class BadWeights:
    def __init__(self, roots: RootModules, optimizers: Optimizers, hunt: NonFiniteHunt) -> None:
        self.roots = roots
        self.optimizers = optimizers
        hunt.explain_weights = self.explain

    def explain(self, name: str, born: bool) -> BadWeight:
        """born: it was so before any update, even if there have been some since."""
        owner, parameter = self._find(name)
        tracked, numbers = self._holder(parameter)
        module, _, attribute = name.rpartition(".")
        if tracked is not None and tracked.steps and not born:
            place = tracked.place
            if not math.isfinite(numbers.get("lr", 0.0)) and tracked.place.file:
                place = setting_of(tracked.place.file, "lr") or tracked.place
            origin = Origin("weights", module, None, place, given=name)
            return BadWeight(origin, tracked.name, numbers, tracked.looked == tracked.steps - 1)
        written = attribute_place(type(owner), attribute) if owner is not None else None
        return BadWeight(Origin("weights", module, None, written or Place(), given=name))

    def _find(self, name: str) -> tuple[nn.Module | None, nn.Parameter | None]:
        for root, module in self.roots.alive():
            for path, child in module.named_modules():
                for own, parameter in child.named_parameters(recurse=False):
                    if ".".join(part for part in (root.name, path, own) if part) == name:
                        return child, parameter
        return None, None

    def _holder(self, parameter: nn.Parameter | None) -> tuple[TrackedOptimizer | None, dict[str, float]]:
        for tracked, optimizer in self.optimizers.live():
            for group in optimizer.param_groups:
                if any(each is parameter for each in group["params"]):
                    return tracked, group_numbers(group)
        return None, {}


# Weights that are plain tensors of the script's own, at the first loss: how large they were drawn.
class HandMade:
    SMALLEST = 256  # elements

    def __init__(self, watch: Watch, backward: Backward) -> None:
        self.watch = watch
        self.backward = backward
        self._looked = False
        backward.on_look.append(self.look)

    @no_grad()
    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._looked or loss.is_cuda:
            return
        self._looked = True
        names = self.backward.roots.path_of_parameter()
        leaves = [getattr(node, "variable", None) for node in nodes_behind(loss.grad_fn)]
        own = [leaf for leaf in leaves if leaf is not None and id(leaf) not in names]
        matrices = [leaf for leaf in own if leaf.dim() == 2 and leaf.numel() >= self.SMALLEST]
        sizes = [item_of(leaf.detach().float().square().mean().sqrt()) for leaf in matrices]
        # Which of its sizes counts inputs is not known: the smaller one says less.
        spreads = [size * math.sqrt(min(leaf.shape)) for leaf, size in zip(matrices, sizes, strict=True)]
        if spreads:
            place = drawn_leaf(frame.f_code.co_filename if frame is not None else None) or Place()
            fields = (len(spreads), statistics.median(spreads), place)
            self.watch.emit(HandMadeWeights(*fields, self.watch.step))


# Units that are alike: rows of a weight matrix that are equal, with gradients that keep them so.
#
# Looked for on deep steps, before the update. Nearly every matrix differs at the first look and is never looked at
# again.
_FEWEST = 4  # units; of two or three a matrix may well be symmetric


class AlikeUnits:
    # Equal up to the rounding of sums in another order.
    tolerance = 1e-5
    MOST = 256  # matrices in one look; the others' turn comes when these are known to differ

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._different: set[int] = set()  # ids of parameters whose units differ; they stay so
        self._reported = False
        optimizers.before_update.append(self.look)

    @no_grad()
    def look(self, held: TrackedOptimizer, optimizer: Optimizer) -> None:
        matrices = [
            p
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None and p.grad.layout is torch.strided
            if p.dim() >= 2 and p.shape[0] >= _FEWEST and p.is_floating_point()
        ]
        waiting = [p for p in matrices if id(p) not in self._different][: self.MOST]
        if waiting or self._reported:
            numbers = [compare_rows(p) for p in waiting]
            values = torch.stack([each.to(numbers[0].device) for each in numbers]) if numbers else torch.empty(0)
            tell = functools.partial(self._tell, held, waiting, len(matrices), self.watch.step)
            self.watch.transfer.send(values.flatten(), tell)

    def _tell(self, tracked: TrackedOptimizer, matrices: list[torch.Tensor], total: int, step: int, found: Any) -> None:
        alike, silent = [], []
        for matrix, (weights, gradients, size) in zip(matrices, found.reshape(-1, 3), strict=True):
            if weights > self.tolerance:
                self._different.add(id(matrix))
            elif size == 0.0:
                silent.append(matrix)
            elif gradients <= self.tolerance:
                alike.append(matrix)
        if alike or silent or self._reported:
            self._reported = bool(alike or silent)
            names = self.optimizers.looks.names
            where = self._where(tracked, (alike or silent)[0]) if self._reported else Place()
            self.watch.emit(TwinUnits(tracked.name, step, names(alike), names(silent), total, where))

    def _where(self, tracked: TrackedOptimizer, parameter: torch.Tensor) -> Place:
        for _, module in self.optimizers.looks.roots.alive():
            for child in module.modules():
                for name, own in child.named_parameters(recurse=False):
                    if own is parameter:
                        return constant_fill(child, name, tracked.place.file) or Place()
        return Place()


def compare_rows(parameter: torch.Tensor) -> torch.Tensor:
    """[how far neighbouring rows differ, the same of the gradient, size of the gradient], relative to the rows.

    Two pairs: the gates of an LSTM lie in one matrix, and units are alike within a gate.
    """
    assert parameter.grad is not None
    matrix, gradient = own_part(parameter), own_part(parameter.grad)
    rows = torch.tensor([0, matrix.shape[0] // 2], device=matrix.device)
    return torch.stack((_apart(matrix, rows), _apart(gradient, rows), gradient.abs().amax().float()))


def _apart(matrix: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    first, second = matrix.detach()[rows].float(), matrix.detach()[rows + 1].float()
    return (first - second).abs().amax() / first.abs().amax().clamp_min(1e-30)


# Weights that should be one and are two: looked for when an optimizer begins with a model.
#
# That an assignment should have made them one can be told at any time; that a copy was made of one, by their values,
# only before the first update.
class Untied:
    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._looked: set[tuple[str, int]] = set()  # model, optimizer
        optimizers.before_update.append(self._look)

    @no_grad()
    def _look(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        own = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for root, module in self.optimizers.looks.roots.alive():
            key = root.name, id(optimizer)
            if key not in self._looked and any(id(p) in own for p in module.parameters()):
                self._looked.add(key)
                for path, owner in module.named_modules():
                    start = ".".join(part for part in (root.name, path) if part)
                    self._compare(root.name, start, owner, own, moved=tracked.steps > 0)

    def _compare(self, root: str, start: str, owner: nn.Module, own: set[int], *, moved: bool) -> None:
        for tie in ties(type(owner)):
            if moved and not tie.shared:
                continue
            first, second = _find(owner, tie.first), _find(owner, tie.second)
            if first is None or second is None or {id(first), id(second)} - own:
                continue
            if first is second or first.data_ptr() == second.data_ptr() or first.shape != second.shape:
                continue  # they are one, or the second is a new head for other classes
            names = f"{start}.{tie.first}", f"{start}.{tie.second}"
            how = "undone" if tie.shared else "copied"
            fact = UntiedWeights(root, *names, second.numel(), how, tie.place, self.watch.step)
            kinds = {type(owner.get_submodule(path.rpartition(".")[0])) for path in (tie.first, tie.second)}
            if tie.shared:
                self.watch.emit(fact)
            elif kinds == {nn.Embedding, nn.Linear}:
                # The one may hold the other's values by copy; layers of one kind are often begun alike. Do they
                # differ, and are there different numbers in the first?
                some = sampled(first)
                unlike = torch.stack([(first.to(second.device) != second).any(), (some != some[0]).any()])
                self.watch.transfer.send(unlike, functools.partial(self._tell_copy, fact))

    def _tell_copy(self, fact: UntiedWeights, unlike: Numbers) -> None:
        """Equal, and not all one number: layers are often begun with zeros on purpose."""
        differ, vary = unlike
        if not differ and vary:
            self.watch.emit(fact)


def _find(owner: nn.Module, path: str) -> torch.Tensor | None:
    try:
        return owner.get_parameter(path)
    except AttributeError:
        return None
