"""In which mode models with dropout or batch norm are trained: read from the counts of their calls."""

from __future__ import annotations

from collections.abc import MutableMapping

from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.sources import class_source, covers
from torch_debugger.anatomy.two_modes import TwoModes, is_untouched, two_modes
from torch_debugger.probes.held import Held
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ModeLook, Place
from torch_debugger.stats.weak_keys import WeakKeysById


class Modes(Probe):
    name = "modes"
    deep_only = True  # until there is a model with two modes

    def __init__(self, watch: Watch, roots: Roots, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self._kinds: MutableMapping[nn.Module, TwoModes] = WeakKeysById()
        self._before: dict[str, tuple[int, int, int]] = {}  # root -> step, calls in train mode, in eval mode
        self._update = Place()
        self._next = 1
        self._listens = False
        optimizers.before_update.append(self._before_update)

    def _before_update(self, held: Held, optimizer: Optimizer) -> None:
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

    def _look(self, root: Root, module: nn.Module, kind: TwoModes) -> None:
        if not self._listens:
            self._listens = True
            self.watch.tell_of_light_steps(self)
        step, before = self.watch.step, self._before.get(root.name, (self.watch.step - 1, 0, 0))
        trained, evaluated = root.phases.get((True, True), 0), root.phases.get((False, True), 0)
        if (trained, evaluated) == before[1:]:
            return  # not called with autograd on: nothing of it was trained
        self._before[root.name] = (step, trained, evaluated)
        held = self.optimizers.parameter_ids()
        parameters = list(module.parameters())
        moved = sum(p.requires_grad and id(p) in held for p in parameters)
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

    def _lines(self, root: Root, method: str) -> tuple[Place, ...]:
        """model.eval(), and self.eval() in a method of the model."""
        outside = [place for owner, place in calls_of(self._update.file, method) if owner == root.name]
        source = class_source(type(root.module()))
        own = [] if source is None else [call for call in calls_of(source[0], method) if call[0] == "self"]
        inside = [place for _, place in own if source is not None and covers(source[1], place.line or 0)]
        return (*outside, *inside)
