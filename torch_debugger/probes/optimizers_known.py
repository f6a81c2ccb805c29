"""Which optimizers there are, and which parameters they hold.

Kept as they come and go: a script may have thousands (federated clients, a search over settings), and a step of
one must not cost by the number of the others.
"""

from __future__ import annotations

import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim import Optimizer

from torch_debugger.records import CarriedGradient, Place, Table
from torch_debugger.source.calls import written_as
from torch_debugger.stats.dispatch_modes import item_of
from torch_debugger.stats.summary import norm
from torch_debugger.stats.transfer import Transfer


class KnownOptimizers:
    LIMIT = 64  # of more, those that stepped last are looked at

    def __init__(self) -> None:
        self.held: dict[int, TrackedOptimizer] = {}
        self._recent: OrderedDict[int, TrackedOptimizer] = OrderedDict()
        self._parameters: Counter[int] = Counter()  # id -> how many optimizers hold it
        self._names: set[str] = set()
        self._numbers: Counter[str] = Counter()  # the last that was put behind a name

    def parameter_ids(self) -> Collection[int]:
        """Of all optimizers; of those that stepped last, also what was added a moment ago."""
        for tracked, optimizer in self.live():
            if len(tracked.parameters) != sum(len(group["params"]) for group in optimizer.param_groups):
                self.holds(tracked, ids_of(optimizer))
        return self._parameters.keys()

    def of(self, optimizer: Optimizer) -> TrackedOptimizer | None:
        known = self.held.get(id(optimizer))
        return known if known is not None and known.optimizer() is optimizer else None

    def add(self, optimizer: Optimizer, tracked: TrackedOptimizer) -> None:
        key = id(optimizer)
        self.forget(key)
        self.held[key] = tracked
        self.has_stepped(key, tracked)
        self.holds(tracked, ids_of(optimizer))

    def forget(self, key: int) -> None:
        tracked = self.held.pop(key, None)
        self._recent.pop(key, None)
        if tracked is not None:
            self.holds(tracked, [])
            self._names.discard(tracked.name)

    def clear(self) -> None:
        for each in (self.held, self._recent, self._parameters, self._names):
            each.clear()

    def has_stepped(self, key: int, tracked: TrackedOptimizer) -> None:
        self._recent[key] = tracked
        self._recent.move_to_end(key)
        if len(self._recent) > self.LIMIT:
            self._recent.popitem(last=False)

    def holds(self, tracked: TrackedOptimizer, parameters: list[int]) -> None:
        before, tracked.parameters = tracked.parameters, parameters
        if before == parameters:
            return
        self._parameters.update(parameters)
        for key in before:
            self._parameters[key] -= 1
            if self._parameters[key] <= 0:
                del self._parameters[key]

    def live(self) -> list[tuple[TrackedOptimizer, Optimizer]]:
        known = self.held if len(self.held) <= self.LIMIT else self._recent
        pairs = [(tracked, tracked.optimizer()) for tracked in tuple(known.values())]
        return [(tracked, optimizer) for tracked, optimizer in pairs if optimizer is not None]

    def free_name(self, name: str) -> str:
        candidate = name
        while candidate in self._names:
            self._numbers[name] += 1
            candidate = f"{name}_{self._numbers[name] + 1}"
        self._names.add(candidate)
        return candidate


def ids_of(optimizer: Optimizer) -> list[int]:
    return [id(p) for group in optimizer.param_groups for p in group["params"]]


# Are an optimizer's gradients cleared between its steps? Told by value.
#
# Version counters lie here (`p.grad.data.zero_()` leaves them alone), so the gradient of one small parameter is
# looked at before every backward of a watched cycle: none or zero even once means it was cleared. Two optimizers that
# share a backward (a GAN) are each judged by their own cycle.
Emit = Callable[[CarriedGradient], None]


class CarryTracker:
    TOLD_CLEAN = 3  # a healthy optimizer is reported this often, then left alone
    TOLD_CARRIED = 12

    def __init__(self) -> None:
        self._sample: torch.Tensor | None = None
        self._name = ""
        self._norms: list[torch.Tensor] = []  # before each backward since the optimizer's last step
        self._cleared = False
        self._first: weakref.ref[torch.Tensor] | None = None  # the gradient before the first of them
        self._tracking = False
        self._clean_reports = self._carried_reports = 0

    def restart(self) -> None:
        """The optimizer has stepped: a new cycle begins."""
        self._norms, self._cleared, self._tracking = [], False, self._sample is not None
        self._first = None

    def before_backward(self) -> None:
        if not self._tracking or self._cleared or self._sample is None:
            return
        gradient = self._sample.grad
        if gradient is None:
            self._cleared = True
        elif gradient.layout is torch.strided and len(self._norms) < 8:
            length = norm(gradient).float()
            if not length.is_cuda and item_of(length) == 0.0:
                self._cleared = True
            self._norms.append(length)
            self._first = self._first or weakref.ref(gradient)

    def choose(self, parameters: list[torch.Tensor], names: tuple[str, ...]) -> None:
        """Sample the smallest parameter that has a gradient to tell by."""
        if self._sample is None or self._sample.grad is None:
            smallest = min(range(len(parameters)), key=lambda index: parameters[index].numel())
            self._sample, self._name = parameters[smallest], names[smallest]

    def at_step(self, step: int, optimizer: str, place: Place, transfer: Transfer, emit: Emit) -> None:
        """The optimizer is about to step; tell what its gradients are made of."""
        if not self._tracking or self._sample is None or self._sample.grad is None:
            return
        if self._clean_reports >= self.TOLD_CLEAN or self._carried_reports >= self.TOLD_CARRIED:
            return
        if not self._norms and not self._cleared:
            return  # no backward in this cycle was seen
        now = norm(self._sample.grad).float()
        # backward() adds to the gradient that is there; another object was put in its place by hand.
        cleared = self._cleared or (self._first is not None and self._first() is not self._sample.grad)

        def deliver(found: Any) -> None:
            before = [float(value) for value in found[:-1]]
            is_clean = cleared or 0.0 in before
            self._clean_reports += is_clean
            self._carried_reports += not is_clean
            carried = 0.0 if is_clean else before[0]
            written = optimizer if is_clean else written_as(place, optimizer)
            emit(CarriedGradient(step, optimizer, place, is_clean, carried, float(found[-1]), self._name, written))

        transfer.send(torch.stack([*self._norms, now]), deliver)


# What is known of one optimizer while it lives.
@dataclass
class TrackedOptimizer:
    name: str  # the user's variable; empty until the optimizer first steps
    optimizer: weakref.ref[Optimizer]
    place: Place  # the line that made it
    source: str  # and its text
    steps: int = 0
    backwards: int = 0  # how many there had been in the run when it last stepped
    looked: int = -1  # its number of steps when all its gradients were last looked at
    sentinel: torch.Tensor | None = None  # the parameter whose gradient is looked at in every step
    counted: int = 0  # the step of its last count of parameters
    carry: CarryTracker = field(default_factory=CarryTracker)
    parameters: list[int] = field(default_factory=list)  # their ids
    told: tuple[Any, ...] = ()  # what the last OptimizerFact said
    keys: list[int] = field(default_factory=list)  # ids of the parameters in `table`
    table: Table | None = None
    elements: Any = None  # of those parameters, as an array
    before: dict[int, torch.Tensor] = field(default_factory=dict)  # samples of weights, on deep steps
    changed: dict[int, bool] = field(default_factory=dict)  # parameter id -> by the last deep step
