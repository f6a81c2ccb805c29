"""Weights that should be one and are two: looked for when an optimizer begins with a model.

That an assignment should have made them one can be told at any time; that a copy was made of one, by their
values, only before the first update.
"""

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.tying import Tie, ties
from torch_debugger.probes.held import Held
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import UntiedWeights
from torch_debugger.stats.summary import sampled
from torch_debugger.stats.transfer import Numbers
from torch_debugger.stats.unseen import no_grad


class Untied:
    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._looked: set[tuple[str, int]] = set()  # model, optimizer
        optimizers.before_update.append(self._look)

    @no_grad()
    def _look(self, held: Held, optimizer: Optimizer) -> None:
        own = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for root, module in self.optimizers.looks.roots.alive():
            key = root.name, id(optimizer)
            if key not in self._looked and any(id(p) in own for p in module.parameters()):
                self._looked.add(key)
                for path, owner in module.named_modules():
                    start = ".".join(part for part in (root.name, path) if part)
                    self._compare(root.name, start, owner, own, moved=held.steps > 0)

    def _compare(self, root: str, start: str, owner: nn.Module, own: set[int], *, moved: bool) -> None:
        for tie in ties(type(owner)):
            if moved and not tie.shared:
                continue
            first, second = _find(owner, tie.first), _find(owner, tie.second)
            if first is None or second is None or {id(first), id(second)} - own or _is_one(first, second):
                continue
            if first.shape != second.shape:
                continue  # a new head for other classes
            names = f"{start}.{tie.first}", f"{start}.{tie.second}"
            how = "undone" if tie.shared else "copied"
            fact = UntiedWeights(root, *names, second.numel(), how, tie.place, self.watch.step)
            if tie.shared:
                self.watch.emit(fact)
            elif _are_embedding_and_linear(owner, tie):
                self.watch.transfer.send(_unlike(first, second), functools.partial(self._tell_copy, fact))

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


def _is_one(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first is second or first.data_ptr() == second.data_ptr()


def _are_embedding_and_linear(owner: nn.Module, tie: Tie) -> bool:
    """Of which the one may hold the other's values by copy; layers of one kind are often begun alike."""
    kinds = {type(owner.get_submodule(path.rpartition(".")[0])) for path in (tie.first, tie.second)}
    return kinds == {nn.Embedding, nn.Linear}


def _unlike(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Whether they differ, and whether there are different numbers in the first."""
    some = sampled(first)
    return torch.stack([(first.to(second.device) != second).any(), (some != some[0]).any()])
