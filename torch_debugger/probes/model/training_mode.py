"""In which mode models with dropout or batch norm are trained: read from the counts of their calls."""

from __future__ import annotations

import dataclasses
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import RandomSampler

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.model.layers import TwoModes, is_untouched, two_modes
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ModeLook, PassCalls, PassFact, Place
from torch_debugger.source.calls import calls_of, uncalled
from torch_debugger.source.constructors import class_place
from torch_debugger.source.files import class_source, covers
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.source.seeds_and_shuffles import seeding_in_loop
from torch_debugger.stats.dispatch_modes import same_state


class Modes(Probe):
    name = "modes"
    deep_only = True  # until there is a model with two modes

    def __init__(self, watch: Watch, roots: RootModules, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self._kinds: MutableMapping[nn.Module, TwoModes] = WeakKeysById()
        self._before: dict[str, tuple[int, int, int]] = {}  # root -> step, calls in train mode, in eval mode
        self._update = Place()
        self._next = 1
        self._listens = False
        optimizers.before_update.append(self._before_update)

    def _before_update(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        """Told on deep steps."""
        if not self._update:
            self._update = place_of(user_frame(2))

    def end_step(self) -> None:
        """A look at every twentieth step or so, and at each of the first ones."""
        step = self.watch.step
        if step < self._next or not self._update:
            return
        self._next = step + max(1, step // 20)
        for root, module in self.roots.alive():
            if module not in self._kinds:
                self._kinds[module] = two_modes(module)
            if self._kinds[module]:
                self._look(root, module, self._kinds[module])

    def _look(self, root: RootModule, module: nn.Module, kind: TwoModes) -> None:
        if not self._listens:
            self._listens = True
            self.watch.tell_of_light_steps(self)
        step, before = self.watch.step, self._before.get(root.name, (self.watch.step - 1, 0, 0))
        trained, evaluated = root.phases.get((True, True), 0), root.phases.get((False, True), 0)
        if (trained, evaluated) == before[1:]:
            return  # not called with autograd on: nothing of it was trained
        self._before[root.name] = (step, trained, evaluated)
        optimized = self.optimizers.parameter_ids()
        parameters = list(module.parameters())
        moved = sum(p.requires_grad and id(p) in optimized for p in parameters)
        self.watch.emit(
            ModeLook(
                step,
                root.name,
                step - before[0],
                trained - before[1],
                evaluated - before[2],
                kind.dropouts,
                kind.norms,
                bool(kind.norms) and is_untouched(module),
                moved / max(1, len(parameters)),
                self._lines(root, "eval"),
                self._lines(root, "train"),
                self._update,
            )
        )

    def _lines(self, root: RootModule, method: str) -> tuple[Place, ...]:
        """model.eval(), and self.eval() in a method of the model."""
        outside = [place for owner, place in calls_of(self._update.file, method) if owner == root.name]
        source = class_source(type(root.module()))
        own = [] if source is None else [call for call in calls_of(source[0], method) if call[0] == "self"]
        inside = [place for _, place in own if source is not None and covers(source[1], place.line or 0)]
        return (*outside, *inside)


# Passes over DataLoaders: what the models did meanwhile, and whether anything was trained.
#
# A pass without an update is a validation. Nothing is done per batch: the models count their calls, the clock counts
# backwards and updates, and a pass reads both at its two ends (about 15 us).
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


class Passes(Probe):
    name = "passes"
    TOLD = 400
    OPEN = 16  # iterators that were left before their end

    def __init__(self, watch: Watch, roots: RootModules, optimizers: Optimizers, loaders: Loaders) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.loaders = loaders
        self._reports = 0
        self._open: dict[int, _Pass] = {}
        # A pass that is over, kept until it is known whether its graph was used; backwards and calls by then.
        self._ended: tuple[PassFact, int, int] | None = None
        self._states: dict[int, torch.Tensor] = {}  # of the generator, when a loader's last pass began
        self._modes: MutableMapping[nn.Module, TwoModes] = WeakKeysById()
        loaders.on_pass_begin.append(self._begin)
        loaders.on_pass_end.append(self._end)

    def remove(self) -> None:
        self._tell_ended()
        self._open, self._states = {}, {}

    def _begin(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        self._tell_ended()
        if self._reports >= self.TOLD:
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
            min((tracked.steps for tracked, _ in self.optimizers.live()), default=0),
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
        self._reports += 1
        clock = self.watch.clock
        alive = self.roots.alive()
        calls = [call for root, module in alive for call in self._calls(root, module, begun)]
        # Then a graph is wanted although no backward() comes: forces of a potential, attacks, saliency.
        files = {begun.place.file, *(class_place(type(module)).file for _, module in alive)}
        inputs = [tensor for root, _ in alive if root.call is not None for tensor in tensors_in(root.call)]
        asks_gradients = any(calls_of(each, "grad") for each in files) or any(each.requires_grad for each in inputs)
        self._ended = (
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
                asks_gradients,
            ),
            clock.backwards,
            self._calls_with_graph(),
        )

    def _tell_ended(self) -> None:
        """A backward() with no call of a model before it was made of the pass itself."""
        ended, self._ended = self._ended, None
        if ended is not None:
            fact, backwards, calls = ended
            since = self.watch.clock.backwards - backwards
            late = since if self._calls_with_graph() - calls < since else 0
            self.watch.emit(dataclasses.replace(fact, backwards=fact.backwards + late))

    def _calls_with_graph(self) -> int:
        phases = [root.phases for root, _ in self.roots.alive()]
        return sum(each.get((True, True), 0) + each.get((False, True), 0) for each in phases)

    def _calls(self, root: RootModule, module: nn.Module, begun: _Pass) -> list[PassCalls]:
        before = begun.phases.get(root.name, {})
        counts = {phase: count - before.get(phase, 0) for phase, count in root.phases.items()}
        if not any(counts.values()):
            return []
        if module not in self._modes:
            self._modes[module] = two_modes(module)
        modes, optimized = self._modes[module], self.optimizers.parameter_ids()
        trained = any(id(parameter) in optimized for parameter in module.parameters())
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
