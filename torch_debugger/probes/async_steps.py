"""What a step on an accelerator leaves behind until its numbers have arrived, some steps later.

Its inputs are kept by reference, and its weights as long as nothing is wrong: the first step with a number
that is not finite is run again on both.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import isfinite

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.source.variables import VariablesAt, moment_without_graphs
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.resources import free_bytes
from torch_debugger.system.clocks import time

Call = tuple[tuple[Any, ...], dict[str, Any]]
States = tuple[torch.Tensor | None, torch.Tensor | None]  # of the host, of the device
# a root's call, the random states before it, and those before the first of several calls
Kept = tuple[Call | None, torch.Tensor | None, torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]


@dataclass(frozen=True)
class Inputs:
    step: int
    moments: Sequence[VariablesAt]  # of the backward calls, one for each
    calls: Mapping[str, Kept]


class AsyncSteps(Probe):
    name = "steps under way"
    STEPS = 12  # kept; numbers are fetched every few steps, and a device lags behind by one or two
    BACKWARDS = 4  # of a step
    SHARE_OF_FREE = 1 / 16  # of the free memory, that the inputs of past steps may hold
    SHARE_OF_TIME, FREE_S = 0.005, 0.05  # of the run, for gradients and weights; and before that is asked

    def __init__(self, watch: Watch, roots: RootModules) -> None:
        super().__init__(watch)
        self.roots = roots
        self.weights = FrozenWeights()
        self._inputs: deque[Inputs] = deque(maxlen=self.STEPS)
        self._moments: list[VariablesAt] = []  # of the step under way
        self._first: dict[str, States] = {}  # random states before the first call of each root
        self._began: float | None = None
        self._spent_s = 0.0
        self._due = True  # for gradients and weights, in the step under way
        self._seen = False  # its gradients
        self.since = 0  # the step from which on weights are kept; 0: none are
        self._over = False

    def backward_called(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._over:
            return
        if frame is not None and len(self._moments) < self.BACKWARDS:
            self._moments.append(moment_without_graphs(frame))
        alive = [root for root, _ in self.roots.alive() if root.lags]
        self._first = {root.name: (root.first_rng, root.first_device_rng) for root in alive}
        now = time.perf_counter()
        self._began = now if self._began is None else self._began
        self._due = self._spent_s <= self.FREE_S + self.SHARE_OF_TIME * (now - self._began)
        if self._due:
            self._timed(self.weights.see, loss)

    def before_update(self, ready: list[torch.Tensor], norms: torch.Tensor | None) -> None:
        """`norms` are those of gradients and weights, where infinite ones mean something."""
        if not self._over and self.watch.transfer.lags(ready[0]):
            self.weights.watch(ready)
            self.since = self.since or self.watch.step
            self._seen = True
            if norms is not None:
                self._timed(self.weights.see, norms.sum())

    def see_gradient(self, gradient: torch.Tensor | None, tell: Callable[[int], None]) -> None:
        """Of one parameter near the input, where any that is not finite ends up; told when it has arrived."""
        if self._over or not self._due:
            return
        self._seen = True
        if gradient is None:
            return

        def send(gradient: torch.Tensor) -> None:
            flag, step = self.weights.see(gradient.sum(dtype=torch.float32)), self.watch.step
            self.watch.transfer.send(flag.clone().reshape(1), lambda found: None if found[0] == 0 else tell(step))

        self._timed(send, gradient)

    def end_step(self) -> None:
        if self._over or not self.roots.any_lags:
            return
        self._keep_inputs()
        if self._seen and self._due:  # else they may have become NaN by gradients that nobody saw
            self._timed(self.weights.update)
        self._seen = False

    def _keep_inputs(self) -> None:
        calls = {
            root.name: (root.call, root.rng_state, root.device_rng, *self._first.get(root.name, (None, None)))
            for root, _ in self.roots.alive()
            if root.call is not None and root.lags
        }
        if calls:
            if not self._inputs:  # as many steps as the memory allows, by the size of the first
                tensors = [tensor for call, *_ in calls.values() for tensor in tensors_in(call)]
                size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
                allowed = free_bytes(tensors[0].device) * self.SHARE_OF_FREE if tensors else 0.0
                most = self.STEPS if size == 0 else max(2, min(self.STEPS, int(allowed // size)))
                self._inputs = deque(maxlen=most)
            self._inputs.append(Inputs(self.watch.step, tuple(self._moments), calls))
        self._moments, self._first = [], {}

    def of(self, step: int) -> Inputs | None:
        return next((kept for kept in self._inputs if kept.step == step), None)

    def knows_weights_of(self, step: int) -> bool:
        """The ones that were kept are its own, or older; not so where keeping began after it."""
        return 0 < self.since <= step

    def held(self) -> list[torch.Tensor]:
        """What is kept alive for a step that may have to be run again."""
        calls = [kept for inputs in self._inputs for kept in inputs.calls.values()]
        moments = [moment.own for inputs in self._inputs for moment in inputs.moments]
        return [*self.weights.held(), *tensors_in(calls), *tensors_in(moments)]

    def let_go(self) -> None:
        self._over = True
        self._inputs.clear()
        self._moments = []
        self.weights.let_go()

    remove = let_go

    def _timed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        result = function(*arguments)
        self._spent_s += time.perf_counter() - start
        return result


# Weights kept on their device, frozen there once something is not finite: no host has to wait for that.
#
# A flag on the device turns NaN with the first number that is not finite, and stays so. After every update the
# weights are copied, and the copy takes the place of the last one only while the flag is zero: what is kept are the
# weights with which the first bad step was computed.
@dataclass
class _Copies:
    """Of parameters of one dtype, one behind the other: one kernel moves them all."""

    parameters: list[torch.Tensor]
    views: list[torch.Tensor]  # into `latest`
    latest: torch.Tensor
    kept: torch.Tensor


class FrozenWeights:
    SHARE_OF_FREE = 1 / 16  # of the free memory, that the copies may take

    def __init__(self) -> None:
        self.flag: torch.Tensor | None = None  # zero, or NaN
        self._copies: list[_Copies] = []
        self._known: set[int] = set()
        self._refused = False

    @no_grad()
    def watch(self, parameters: Sequence[torch.Tensor]) -> None:
        """Before an update: parameters that are not known yet are kept as they are now."""
        new = [p for p in parameters if id(p) not in self._known and p.is_floating_point()]
        if not new or self._refused:
            return
        if 2 * sum(p.numel() * p.element_size() for p in new) > free_bytes(new[0].device) * self.SHARE_OF_FREE:
            self.let_go()
            self._refused = True
            return
        self._known |= {id(p) for p in new}
        for dtype, device in {(p.dtype, p.device) for p in new}:
            own = [p for p in new if (p.dtype, p.device) == (dtype, device)]
            latest = torch.empty(sum(p.numel() for p in own), dtype=dtype, device=device)
            copies = _Copies(own, _views(latest, own), latest, torch.empty_like(latest))
            torch._foreach_copy_(copies.views, own)
            copies.kept.copy_(latest)
            self._copies.append(copies)

    @no_grad()
    def see(self, number: torch.Tensor) -> torch.Tensor:
        """Zero times a number is zero, or NaN where it is not finite."""
        if self.flag is None or self.flag.device != number.device:
            self.flag = torch.zeros((), device=number.device)
        return self.flag.add_(number.detach().float(), alpha=0)

    @no_grad()
    def update(self) -> None:
        """After an update."""
        clean = self.flag == 0 if self.flag is not None else None
        for copies in self._copies:
            torch._foreach_copy_(copies.views, copies.parameters)
            if clean is not None and clean.device == copies.latest.device:
                torch.where(clean, copies.latest, copies.kept, out=copies.kept)

    def not_finite(self) -> list[torch.Tensor]:
        """The parameters of which no finite values were kept; the host waits for the answer."""
        pairs = [pair for copies in self._copies for pair in _pairs(copies)]
        return [p for p, kept in pairs if not bool(isfinite(kept).all())]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[bool]:
        """The parameters are for a while what was kept of them; yields whether anything was."""
        swapped = [(p, p.data, kept) for copies in self._copies for p, kept in _pairs(copies)]
        for parameter, _, kept in swapped:
            parameter.data = kept
        try:
            yield bool(swapped)
        finally:
            for parameter, data, _ in swapped:
                parameter.data = data

    def held(self) -> list[torch.Tensor]:
        """The memory that keeping takes."""
        return [part for copies in self._copies for part in (copies.latest, copies.kept)]

    def let_go(self) -> None:
        self.flag = None
        self._copies = []
        self._known = set()


def _views(flat: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
    parts = torch.split(flat, [p.numel() for p in parameters])
    return [part.view(p.shape) for part, p in zip(parts, parameters, strict=True)]


def _pairs(copies: _Copies) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return zip(copies.parameters, _views(copies.kept, copies.parameters), strict=True)
