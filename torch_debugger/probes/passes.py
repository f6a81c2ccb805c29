"""Passes over DataLoaders: what the models did meanwhile, and whether anything was trained.

A pass without an update is a validation. Nothing is done per batch: the models count their calls, the clock
counts backwards and updates, and a pass reads both at its two ends (about 15 us).
"""

from __future__ import annotations

import dataclasses
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.data import RandomSampler

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.places import class_place
from torch_debugger.anatomy.seeding import seeding_in_loop
from torch_debugger.anatomy.two_modes import TwoModes, two_modes
from torch_debugger.anatomy.uncalled import uncalled
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import PassCalls, PassFact, Place
from torch_debugger.stats.unseen import same_state
from torch_debugger.stats.weak_keys import WeakKeysById

Phases = dict[tuple[bool, bool], int]


@dataclass
class _Pass:
    loader: int
    place: Place
    shuffled: bool
    age: int
    repeats: bool
    updates: int
    backwards: int
    phases: dict[str, Phases]


@dataclass
class _Ended:
    """A pass that is over, kept until it is known whether its graph was used."""

    fact: PassFact
    backwards: int
    calls: int


class Passes(Probe):
    name = "passes"
    TOLD = 400
    OPEN = 16  # iterators that were left before their end

    def __init__(self, watch: Watch, roots: Roots, optimizers: Optimizers, loaders: Loaders) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.loaders = loaders
        self._told = 0
        self._open: dict[int, _Pass] = {}
        self._ended: _Ended | None = None
        self._states: dict[int, torch.Tensor] = {}  # of the generator, when a loader's last pass began
        self._modes: MutableMapping[nn.Module, TwoModes] = WeakKeysById()
        loaders.on_pass_begin.append(self._begin)
        loaders.on_pass_end.append(self._end)

    def remove(self) -> None:
        self._tell_ended()
        self._open, self._states = {}, {}

    def _begin(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        self._tell_ended()
        if self._told >= self.TOLD:
            return
        number = self.loaders.deliveries.number_of(loader)
        before, self._states[number] = self._states.get(number), state
        if len(self._open) >= self.OPEN:
            self._open.pop(next(iter(self._open)))
        clock = self.watch.clock
        self._open[id(iterator)] = _Pass(
            number,
            place_of(user_frame(2)),
            is_a(loader.sampler, RandomSampler),
            min((held.steps for held, _ in self.optimizers.live()), default=0),
            before is not None and same_state(before, state),
            clock.optimizer_steps,
            clock.backwards,
            {root.name: dict(root.phases) for root, _ in self.roots.alive()},
        )

    def _end(self, iterator: Any) -> None:
        begun = self._open.pop(id(iterator), None)
        if begun is None:
            return
        self._tell_ended()
        self._told += 1
        clock = self.watch.clock
        file = begun.place.file
        calls = [call for root, module in self.roots.alive() for call in self._calls(root, module, begun)]
        self._ended = _Ended(
            PassFact(
                self.watch.step,
                begun.loader,
                begun.place,
                iterator._num_yielded,
                clock.optimizer_steps - begun.updates,
                clock.backwards - begun.backwards,
                tuple(calls),
                begun.shuffled,
                begun.age,
                begun.repeats,
                seeding_in_loop(begun.place) if begun.repeats else Place(),
                self._asks_gradients(file),
            ),
            clock.backwards,
            self._calls_with_graph(),
        )

    def _tell_ended(self) -> None:
        """A backward() with no call of a model before it was made of the pass itself."""
        ended, self._ended = self._ended, None
        if ended is not None:
            since = self.watch.clock.backwards - ended.backwards
            late = since if self._calls_with_graph() - ended.calls < since else 0
            self.watch.emit(dataclasses.replace(ended.fact, backwards=ended.fact.backwards + late))

    def _calls_with_graph(self) -> int:
        phases = [root.phases for root, _ in self.roots.alive()]
        return sum(each.get((True, True), 0) + each.get((False, True), 0) for each in phases)

    def _calls(self, root: Root, module: nn.Module, begun: _Pass) -> list[PassCalls]:
        before = begun.phases.get(root.name, {})
        counts = {phase: count - before.get(phase, 0) for phase, count in root.phases.items()}
        if not any(counts.values()):
            return []
        if module not in self._modes:
            self._modes[module] = two_modes(module)
        modes, held = self._modes[module], self.optimizers.parameter_ids()
        trained = any(id(parameter) in held for parameter in module.parameters())
        evals = [place for owner, place in calls_of(begun.place.file, "eval") if owner == root.name]
        return [
            PassCalls(
                root.name,
                train_grad=counts.get((True, True), 0),
                train_only=counts.get((True, False), 0),
                eval_grad=counts.get((False, True), 0),
                eval_only=counts.get((False, False), 0),
                dropouts=modes.dropouts,
                norms=modes.norms,
                trained=trained,
                evals=tuple(evals),
                uncalled=uncalled(begun.place.file, "eval", root.name),
            )
        ]

    def _asks_gradients(self, file: str | None) -> bool:
        """Then a graph is wanted although no backward() comes: forces of a potential, attacks, saliency."""
        alive = self.roots.alive()
        files = {file, *(class_place(type(module)).file for _, module in alive)}
        inputs = [tensor for root, _ in alive if root.call is not None for tensor in tensors_in(root.call)]
        return any(calls_of(each, "grad") for each in files) or any(tensor.requires_grad for tensor in inputs)
