"""The optimizers: what they hold, what their gradients are made of, what a step changes."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.assignments import filling_of_argument
from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.naming import name_of
from torch_debugger.anatomy.statements import assignment_before, statement_at
from torch_debugger.anatomy.update_forms import update_form
from torch_debugger.probes.held import Held
from torch_debugger.probes.known_optimizers import KnownOptimizers
from torch_debugger.probes.parameters import ParameterLook
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.strays import Strays
from torch_debugger.probes.watch import Watch
from torch_debugger.records import OptimizerFact, Place
from torch_debugger.stats.shards import own_part, shards_expected
from torch_debugger.tracebacks import hidden_in_tracebacks

_NUMBERS = ("lr", "initial_lr", "momentum", "weight_decay", "eps", "alpha", "rho", "max_iter")
_SCHEDULED = frozenset({"lr", "initial_lr"})  # what a schedule sets: the second is the rate it starts from


class Optimizers(Probe):
    name = "optimizers"
    COUNT_EVERY = 8  # steps between counts of a model's parameters: about 1 us a parameter

    def __init__(self, watch: Watch, strays: Strays, looks: ParameterLook) -> None:
        super().__init__(watch)
        self.strays = strays
        self.looks = looks
        self.known = KnownOptimizers()
        self.held = self.known.held
        self.live = self.known.live
        self.parameter_ids = strays.held = self.known.parameter_ids
        self.before_update: list[Callable[[Held, Optimizer], None]] = []  # told on deep steps
        self._handles: list[RemovableHandle] = []
        self._backward = Place()
        self._searched = False

    def install(self, patches: Patches) -> None:
        patches.replace(Optimizer, "__init__", self._around_init)
        self._handles = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.known.clear()

    # Made

    def _around_init(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            with hidden_in_tracebacks:
                original(optimizer, *arguments, **keywords)
            self.watch.probe("optimizers", self._made, optimizer)

        __init__.__wrapped__ = original  # type: ignore[attr-defined]
        __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return __init__

    def _made(self, optimizer: Optimizer) -> None:
        self._meet(optimizer, place_of(user_frame(2)))

    def find_made_before(self, frame: FrameType | None) -> None:
        """Optimizers from before the watch; asked at a backward while none is known, and only once."""
        if self.held or self._searched:
            return
        self._searched = True
        watched = self.looks.roots.path_of_parameter()
        for optimizer in [each for each in gc.get_objects() if issubclass(type(each), Optimizer)]:
            groups = getattr(optimizer, "param_groups", ())  # one whose __init__ has raised has none
            if any(id(p) in watched for group in groups for p in group["params"]):
                self.watch.clock.optimizers_exist = True
                if frame is not None and name_of(optimizer, frame):  # else one that a notebook has not let go
                    self._meet(optimizer)

    def _meet(self, optimizer: Optimizer, place: Place | None = None) -> Held:
        known = self.known.of(optimizer)
        if known is not None:
            return known
        key = id(optimizer)

        def gone(reference: object) -> None:
            self.watch.guard.contain("optimizers", self._gone, key)

        source = statement_at(place) if place else ""
        held = Held("", weakref.ref(optimizer, gone), place or Place(), source)
        self.known.add(optimizer, held)
        self.watch.clock.made(key)
        self.looks.several = len(self.held) > 1
        return held

    def _gone(self, key: int) -> None:
        self.known.forget(key)
        self.watch.clock.gone(key)

    # Stepping

    def _before_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self.watch.trains()
        self.watch.probe("optimizers", self._look if self.watch.depth else self._glance, optimizer)
        policy = self.looks.hunt.policy
        if policy.waits:
            policy.act()
            self.watch.probe("skipped updates", policy.before_update, optimizer)
        self.watch.mark(self.watch.phases.begin_update)

    def _after_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if torch.compiler.is_compiling() or not self.watch.active:
            return
        self.watch.mark(self.watch.phases.end_update)
        self.watch.keep_to_limit()
        if self.looks.hunt.policy.waits:
            self.watch.probe("skipped updates", self.looks.hunt.policy.after_update, optimizer)
        if not self.watch.probe("optimizers", self._stepped, optimizer):
            self.watch.end_step()  # steps are counted without us too

    def _stepped(self, optimizer: Optimizer) -> bool:
        held = self._meet(optimizer)
        held.steps += 1
        self.known.has_stepped(id(optimizer), held)
        held.backwards = self.watch.clock.backwards
        self._tell_what_it_holds(held, optimizer)
        self._take_rates(held, optimizer)
        if held.before:
            self.looks.after_update(held, optimizer)
        held.carry.restart()
        if self.watch.clock.stepped(id(optimizer)):
            self.watch.end_step()
        return True

    def _tell_what_it_holds(self, held: Held, optimizer: Optimizer) -> None:
        """At its first step and whenever that changes, on steps that are not looked at as well: 0.2 us."""
        count = sum([len(group["params"]) for group in optimizer.param_groups])
        if not held.told or held.told[0] != count:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            self.known.holds(held, [id(p) for p in parameters])
            self._tell(held, optimizer, parameters)

    def _take_rates(self, held: Held, optimizer: Optimizer) -> None:
        prefix = f"lr/{held.name}" if self.looks.several else "lr"
        for number, group in enumerate(optimizer.param_groups):
            rate = group.get("lr")
            if isinstance(rate, (int, float)):
                self.watch.scalars[f"{prefix}/{number}"] = float(rate)

    def look_before_backward(self, place: Place) -> None:
        """Are gradients left over from before the last step? Asked at every backward of a watched step."""
        self._backward = place
        for held, _ in self.live():
            if held.steps:
                held.carry.before_backward()

    def _glance(self, optimizer: Optimizer) -> None:
        """On every other step: one small gradient near the input, where any that is not finite ends up."""
        held = self.held.get(id(optimizer))
        if held is not None and (self.looks.hunt.policy.waits or self.looks.glance(held, self._backward)):
            self._look(optimizer)

    def glance_at_all(self, backward: Place) -> None:
        """After one backward of several."""
        for held, optimizer in self.live():
            if self.looks.glance(held, backward):
                self._backward = backward
                self._look(optimizer)

    def _look(self, optimizer: Optimizer) -> None:
        held = self._meet(optimizer)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.known.holds(held, [id(p) for p in parameters])
        self._tell(held, optimizer, parameters)
        if self.watch.depth == DEEP:
            for listen in self.before_update:
                self.watch.hear(self.name, listen, held, optimizer)
        if held.steps - held.counted >= self.COUNT_EVERY:
            held.counted = held.steps
            self.looks.notice_growth()
        ready = [p for p in parameters if p.grad is not None and p.grad.layout is torch.strided]
        ready = [p for p in ready if own_part(p).numel()] if shards_expected() else ready
        if ready:
            held.sentinel = _sentinel(ready)
            self.looks.before_update(held, ready, self._backward)
            held.looked = held.steps

    def _tell(self, held: Held, optimizer: Optimizer, parameters: list[torch.Tensor]) -> None:
        if not held.name:
            self._name(held, optimizer, user_frame(2))
        groups = tuple(group_numbers(group) for group in optimizer.param_groups)
        fixed = tuple({k: v for k, v in group.items() if k not in _SCHEDULED} for group in groups)
        told = (len(parameters), str(fixed))
        sizes = tuple(len(group["params"]) for group in optimizer.param_groups)
        if held.told != told:  # the learning rate has curves of its own; a schedule tells nothing new
            held.told = told
            self.watch.emit(
                OptimizerFact(
                    held.name, type(optimizer).__name__, held.place, groups, self.looks.names(parameters),
                    self.watch.step, held.source, sizes, update_form(optimizer),
                    filling_of_argument(held.place),
                )
            )  # fmt: skip

    def _name(self, held: Held, optimizer: Optimizer, frame: FrameType | None) -> None:
        found = name_of(optimizer, frame) if frame is not None else None
        held.name = self.known.free_name(found or "optimizer")
        maker = assignment_before(place_of(frame), found) if found and not held.place else None
        if maker is not None and type(optimizer).__name__ in statement_at(maker):
            held.place, held.source = maker, statement_at(maker)


def _sentinel(ready: list[torch.Tensor]) -> torch.Tensor:
    """The first, which most models use first; else a smaller one near it, to be summed in no time."""
    return ready[0] if ready[0].numel() <= 20_000 else min(ready[:8], key=torch.numel)


def group_numbers(group: dict[str, Any]) -> dict[str, float]:
    numbers = {key: float(group[key]) for key in _NUMBERS if isinstance(group.get(key), (int, float))}
    numbers |= {"maximize": 1.0} if group.get("maximize") else {}
    betas = group.get("betas")
    if isinstance(betas, (tuple, list)) and all(isinstance(beta, (int, float)) for beta in betas):
        numbers |= {f"beta{index + 1}": float(beta) for index, beta in enumerate(betas)}
    return numbers
