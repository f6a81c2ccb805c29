"""Models that take part in a training without being trained: teachers, references, frozen encoders.

On deep steps: those called where no gradient is wanted, or that give nothing with a graph. Are their dropout
and batch norm on, and do their weights stay what they are?
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.naming import name_root
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.running import in_transform
from torch_debugger.anatomy.two_modes import TwoModes, two_modes
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, QuietModel
from torch_debugger.stats.summary import sampled
from torch_debugger.stats.unseen import no_grad
from torch_debugger.stats.weak_keys import WeakKeysById


@dataclass
class _Quiet:
    """What is known of one such model."""

    name: str
    modes: TwoModes
    weights: Any = None  # a sample of them at the last look
    steps: int = 0  # of the optimizers that hold some of it, at the last look


@dataclass
class _Called:
    calls: int
    place: Place
    feeds: bool = False


class QuietModels(Probe):
    name = "quiet models"
    deep_only = True
    MODELS = 8

    def __init__(self, watch: Watch, forward: Forward, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._known: MutableMapping[nn.Module, _Quiet] = WeakKeysById()
        # In this step:
        self._called: MutableMapping[nn.Module, _Called] = WeakKeysById()
        self._made: dict[int, _Called] = {}  # by the address of what they made
        forward.on_quiet.append(self._see)
        forward.on_output.append(self._see_output)

    def _see(self, module: nn.Module, given: Any, made: Any) -> None:
        if in_transform():
            return
        known = self._known.get(module)
        if known is None and len(self._known) < self.MODELS and next(module.parameters(), None) is not None:
            known = self._known[module] = _Quiet(name_root(module, user_frame(2)), two_modes(module))
        if known is not None and known.modes:
            called = self._called.setdefault(module, _Called(0, place_of(user_frame(2))))
            called.calls += 1
            self._made |= dict.fromkeys(_addresses(made), called)

    def _see_output(self, path: str, module: nn.Module, given: Any, made: Any) -> None:
        """Also a whole model that is frozen, and given data: nothing it makes has a graph."""
        for address in _addresses(given) if self._made and not in_transform() else ():
            if address in self._made:
                self._made[address].feeds = True
        if "." not in path and not any(tensor.requires_grad for tensor in tensors_in(made)):
            self._see(module, given, made)

    @no_grad()
    def end_step(self) -> None:
        called, self._called, self._made = self._called, WeakKeysById(), {}
        for module, call in called.items():
            known, parameters = self._known[module], list(module.parameters())
            ends = [sampled(p).flatten().float() for p in (parameters[0], parameters[-1])]
            tell = functools.partial(self._tell, known, self._look(module, parameters, known, call))
            self.watch.transfer.send(torch.cat([end.to(ends[0].device) for end in ends]), tell)

    def _look(
        self, module: nn.Module, parameters: list[nn.Parameter], known: _Quiet, called: _Called
    ) -> QuietModel:
        own = {id(parameter) for parameter in parameters}
        before = known.steps
        known.steps = sum(held.steps for held, optimizer in self.optimizers.live() if _holds(optimizer, own))
        trains = [place for owner, place in calls_of(called.place.file, "train") if owner == known.name]
        return QuietModel(
            self.watch.step,
            known.name,
            type(module).__name__,
            any(part.training for part in module.modules() if part is not module and two_modes(part)),
            called.calls,
            known.modes.dropouts,
            known.modes.norms,
            known.steps != before,
            called.feeds,
            self._twin(parameters),
            called.place,
            tuple(trains),
        )

    def _tell(self, known: _Quiet, look: QuietModel, found: Any) -> None:
        before, known.weights = known.weights, numpy.array(found)
        if before is not None:
            moved = look.moves or not numpy.array_equal(before, known.weights)
            self.watch.emit(dataclasses.replace(look, moves=moved))

    def _twin(self, parameters: list[nn.Parameter]) -> str:
        shapes = [parameter.shape for parameter in parameters]
        for root, module in self.optimizers.looks.roots.alive():
            others = list(module.parameters())
            if not any(p is parameters[0] for p in others) and [p.shape for p in others] == shapes:
                return root.name
        return ""


def _holds(optimizer: torch.optim.Optimizer, own: set[int]) -> bool:
    return any(id(parameter) in own for group in optimizer.param_groups for parameter in group["params"])


def _addresses(value: Any) -> list[int]:
    """Of the tensors in it; a view has the address of what it shows."""
    plain = [each for each in tensors_in(value) if each.layout is torch.strided and not each.is_nested]
    return [tensor.untyped_storage().data_ptr() for tensor in plain]
