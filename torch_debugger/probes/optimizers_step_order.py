"""An optimizer's cycle: gradients are made, used by its step, and cleared. In that order?

Seen on deep steps: where gradients are cleared, what a step finds, and who never steps at all.
"""

from __future__ import annotations

import functools
import weakref
from collections import deque
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle

from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.loss_graph import local_tensors
from torch_debugger.probes.model.copies import find_lookalike
from torch_debugger.probes.model.parameters import gradient_state
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import IdleOptimizer, Place, StepCycle
from torch_debugger.source.calls import calls_of, uncalled, written_as
from torch_debugger.source.frames import locals_of, place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import condition_around
from torch_debugger.source.variables import name_of
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import sampled
from torch_debugger.stats.transfer import Numbers
from torch_debugger.system.tracebacks import hidden_in_tracebacks


@dataclass(frozen=True)
class Used:
    """The gradient that a step used; an address alone would be taken again by the next one. The weak reference
    is to its storage: torch.utils.swap_tensors refuses a tensor that has one of Python's."""

    storage: StorageWeakRef
    version: int
    sample: torch.Tensor | None  # `.data` is written to without a new version; not on a device

    @classmethod
    def now(cls, gradient: torch.Tensor) -> Used:
        sample = sampled(gradient).clone() if gradient.device.type == "cpu" else None
        return cls(_storage(gradient), gradient._version, sample)


def _storage(tensor: torch.Tensor) -> StorageWeakRef:
    return StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]


@dataclass
class Cycle:
    """What happened to one optimizer's gradients since its last step."""

    backwards: int = 0
    cleared: Place = field(default_factory=Place)
    used: Used | None = None  # by its last step
    told: dict[str, int] = field(default_factory=dict)  # state -> how often
    last_told: str = ""
    closer_looks: int = 0  # asked for
    unspent: bool = False  # its last look found none, and a loss that would give some


class Cycles(Probe):
    name = "optimizer cycles"
    TOLD = 8  # of each state of each optimizer; after that only changes
    CLOSER_LOOKS = 3  # asked for per optimizer, for some steps each

    def __init__(self, watch: Watch, optimizers: Optimizers, backward: Backward) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._cycles: dict[int, Cycle] = {}
        self._idle = Idleness(watch)
        self._backward = Place()
        self._handles: list[RemovableHandle] = []
        backward.on_every_look.append(self.see_backward)

    def install(self, patches: Patches) -> None:
        patches.replace(Optimizer, "zero_grad", self._around_zero_grad)
        patches.replace(nn.Module, "zero_grad", self._around_zero_grad)
        self._handles = [register_optimizer_step_post_hook(self._after_step)]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _around_zero_grad(self, original: Any) -> Any:
        @functools.wraps(original)
        def zero_grad(owner: Any, *arguments: Any, **keywords: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(owner, *arguments, **keywords)
            if self.watch.depth == DEEP:
                self.watch.probe(self.name, self._clear, owner)
            with hidden_in_tracebacks:
                return original(owner, *arguments, **keywords)

        return zero_grad

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """Told before every backward of a deep step, and of some others."""
        if self.watch.depth != DEEP:
            return
        self._backward = place = place_of(frame)
        for tracked, optimizer in self.optimizers.live():
            cycle = self._cycle(optimizer)
            cycle.backwards += 1
            cycle.cleared = Place()
            if not tracked.steps:
                self._idle.see_backward(tracked, optimizer, place)

    def _cycle(self, optimizer: Optimizer) -> Cycle:
        return self._cycles.setdefault(id(optimizer), Cycle())

    def _clear(self, owner: Optimizer | nn.Module) -> None:
        frame = user_frame(2)
        if isinstance(owner, Optimizer):
            concerned = [owner]
            tracked = self.optimizers.held.get(id(owner))
            if tracked is not None and not tracked.steps:
                self._idle.see_clearing(id(owner), name_of(owner, frame) or "")
        else:
            own = {id(parameter) for parameter in owner.parameters()}
            live = [optimizer for _, optimizer in self.optimizers.live()]
            concerned = [each for each in live if any(id(p) in own for p in _parameters(each))]
        for optimizer in concerned:
            if self._cycle(optimizer).backwards and any(p.grad is not None for p in _parameters(optimizer)):
                self._cycle(optimizer).cleared = place_of(frame)

    def _after_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if self._idle.suspects:
            self.watch.probe(self.name, self._idle.see_step, id(optimizer))
        if self.watch.depth == DEEP:
            self.watch.probe(self.name, self._stepped, optimizer)
            return
        self.watch.probe(self.name, self._glance, optimizer)

    def _glance(self, optimizer: Optimizer) -> None:
        tracked = self.optimizers.held.get(id(optimizer))
        lost = tracked is not None and tracked.sentinel is not None and tracked.sentinel.grad is None
        cycle = self._cycles.get(id(optimizer))
        begins = cycle is not None and cycle.unspent and any(p.grad is not None for p in _parameters(optimizer))
        if begins or (tracked is not None and (not tracked.steps or lost)):
            # A new stage begins, a parameter that had gradients has none, or one that had none has some.
            cycle = self._cycle(optimizer)
            if cycle.closer_looks < self.CLOSER_LOOKS:
                cycle.closer_looks += 1
                self.watch.governor.insist(4)

    def _stepped(self, optimizer: Optimizer) -> None:
        tracked = self.optimizers.held.get(id(optimizer))
        if tracked is None or not tracked.name:
            return
        cycle = self._cycle(optimizer)
        state, used = _state(_parameters(optimizer), cycle.used)
        if cycle.told.get(state, 0) < self.TOLD or state != cycle.last_told:
            cycle.last_told = state
            cycle.told[state] = cycle.told.get(state, 0) + 1
            fact = self._fact(tracked, optimizer, cycle, state)
            cycle.unspent = bool(fact.unspent)
            self.watch.emit(fact)
        cycle.backwards, cycle.cleared, cycle.used = 0, Place(), used

    def _fact(self, tracked: TrackedOptimizer, optimizer: Optimizer, cycle: Cycle, state: str) -> StepCycle:
        frame = user_frame(2)
        place = place_of(frame)
        missing = not cycle.backwards and state != "nonzero"
        scalars = [each for each in local_tensors(frame) if each.requires_grad and not each.shape]
        unreached = cycle.backwards > 0 and not cycle.cleared and state in ("none", "stale")
        lookalike = find_lookalike(optimizer, self.optimizers, tracked.place) if unreached else None
        return StepCycle(
            step=self.watch.step,
            optimizer=tracked.name,
            place=place,
            gradients=state,
            backwards=cycle.backwards,
            backward=self._backward if cycle.backwards else Place(),
            cleared=cycle.cleared,
            losses=tuple(each.name for each in scalars) if missing else (),
            trained=any(root.trained for root, _ in self.optimizers.looks.roots.alive()),
            uncalled=uncalled(place.file, "backward") if missing else Place(),
            twin=lookalike.name if lookalike is not None else "",
            twin_place=lookalike.place if lookalike is not None else Place(),
            unspent=unspent_loss(frame, _parameters(optimizer)) if unreached and state == "none" else "",
        )


def _parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _state(parameters: list[torch.Tensor], used: Used | None) -> tuple[str, Used | None]:
    """By the first gradient that is not zero; of most optimizers that is the very first."""
    for parameter in parameters:
        gradient = parameter.grad
        if gradient is not None and gradient_state(parameter) in ("nonzero", "notfinite"):
            if gradient.layout is not torch.strided:
                return "nonzero", None
            now = Used.now(gradient)
            same = used is not None and used.version == now.version and used.storage == now.storage
            if used is not None and same and used.sample is not None and now.sample is not None:
                same = torch.equal(used.sample, now.sample)
            return "stale" if same else "nonzero", now
    return ("zero" if any(p.grad is not None for p in parameters) else "none"), None


# Optimizers that were made, whose parameters get gradients, and that do not step.
@dataclass
class OrderSuspect:
    held: TrackedOptimizer
    kind: str
    samples: list[tuple[weakref.ref[torch.Tensor], torch.Tensor]] = field(default_factory=list)
    name: str = ""
    backwards: int = 0
    zero_grads: int = 0
    reached: bool = False  # some parameter has had a gradient that is not zero
    told: bool = False
    stepped: bool = False


class Idleness:
    TELL_AT = frozenset({4, 8, 16, 32, 64})  # backward passes
    SAMPLED = 4  # parameters compared with what they were at first

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.suspects: dict[int, OrderSuspect] = {}

    def see_clearing(self, key: int, name: str) -> None:
        suspect = self.suspects.get(key)
        if suspect is not None:
            suspect.name, suspect.zero_grads = name or suspect.name, suspect.zero_grads + 1
            self._ask_whether_reached(suspect)

    def see_backward(self, tracked: TrackedOptimizer, optimizer: Optimizer, place: Place) -> None:
        suspect = self.suspects.get(id(optimizer))
        if suspect is None or suspect.held is not tracked:
            suspect = OrderSuspect(tracked, type(optimizer).__name__, _samples(optimizer, self.SAMPLED))
            self.suspects[id(optimizer)] = suspect
        suspect.backwards += 1
        self.watch.transfer.poll()  # which the end of a step does, where there are steps
        self._ask_whether_reached(suspect)
        if suspect.backwards in self.TELL_AT and suspect.reached and not self.watch.clock.skipped:

            def tell(moved: Numbers) -> None:
                if not suspect.stepped:
                    suspect.told = not moved.any()
                    self._tell(suspect, place, stepped=not suspect.told)

            self.watch.transfer.send(_moved(suspect), tell)

    def _ask_whether_reached(self, suspect: OrderSuspect) -> None:
        def note(flags: Numbers) -> None:
            suspect.reached = suspect.reached or bool(flags.any())

        gradients = [p.grad for reference, _ in suspect.samples if (p := reference()) is not None]
        flags = [gradient.any() for gradient in gradients if gradient is not None]
        if flags and not suspect.reached:
            self.watch.transfer.send(torch.stack(flags), note)

    def see_step(self, key: int) -> None:
        suspect = self.suspects.pop(key, None)
        if suspect is not None:
            suspect.stepped = True
            if suspect.told:
                self._tell(suspect, Place(), stepped=True)

    def _tell(self, suspect: OrderSuspect, backward: Place, stepped: bool) -> None:
        tracked = suspect.held
        name, file = tracked.name or suspect.name, backward.file
        lines = [place.line for owner, place in calls_of(file, "step") if owner == name]
        line = lines[0] if len(lines) == 1 else None
        self.watch.emit(
            IdleOptimizer(
                name or "optimizer",
                suspect.kind,
                tracked.place,
                suspect.backwards,
                suspect.zero_grads,
                backward,
                uncalled(file, "step", name),
                stepped,
                self.watch.step,
                (condition_around(file, line) if file and line else None) or Place(),
                written_as(backward, name),
            )
        )


@no_grad()
def _samples(optimizer: Optimizer, count: int) -> list[tuple[weakref.ref[torch.Tensor], torch.Tensor]]:
    trained = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    smallest = sorted(trained, key=torch.numel)[:count]
    return [(weakref.ref(p), sampled(p).clone()) for p in smallest]


@no_grad()
def _moved(suspect: OrderSuspect) -> torch.Tensor:
    """Whether some parameter is no more what it was, on its own device."""
    now = [(p, sample) for reference, sample in suspect.samples if (p := reference()) is not None]
    flags = [(sampled(p) != sample).any() for p, sample in now if sampled(p).shape == sample.shape]
    return torch.stack(flags) if len(flags) == len(now) and flags else torch.ones(1)


# Losses that were computed and never used: backward() on one of them would have reached a parameter.
_NODES = 4000  # of one graph


def unspent_loss(frame: FrameType | None, parameters: list[torch.Tensor]) -> str:
    """The variable of a frame, one number with a graph, that leads to these parameters; "" if none does."""
    own = {id(parameter) for parameter in parameters}
    for name, value in locals_of(frame).items() if frame is not None else ():
        if not is_a(value, torch.Tensor) or value.numel() != 1:
            continue
        waiting, seen = deque([value.grad_fn] if value.grad_fn is not None else []), {value.grad_fn}
        while waiting and len(seen) < _NODES:
            node = waiting.popleft()
            if id(getattr(node, "variable", None)) in own:
                return name
            new = {operand for operand, _ in node.next_functions if operand is not None} - seen
            seen |= new
            waiting += new
    return ""
