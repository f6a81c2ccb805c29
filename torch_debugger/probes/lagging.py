"""What a step on an accelerator leaves behind until its numbers have arrived, some steps later.

Its inputs are kept by reference, and its weights as long as nothing is wrong: the first step with a number
that is not finite is run again on both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.moments import Moment, moment_without_graphs
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.clocks import time
from torch_debugger.probes.frozen import FrozenWeights
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.stats.memory import free_bytes

Call = tuple[tuple[Any, ...], dict[str, Any]]
States = tuple[torch.Tensor | None, torch.Tensor | None]  # of the host, of the device
# a root's call, the random states before it, and those before the first of several calls
Kept = tuple[Call | None, torch.Tensor | None, torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]


@dataclass(frozen=True)
class Inputs:
    step: int
    moments: Sequence[Moment]  # of the backward calls, one for each
    calls: Mapping[str, Kept]


class Lagging(Probe):
    name = "steps under way"
    STEPS = 12  # kept; numbers are fetched every few steps, and a device lags behind by one or two
    BACKWARDS = 4  # of a step
    SHARE_OF_FREE = 1 / 16  # of the free memory, that the inputs of past steps may hold
    SHARE_OF_TIME, FREE_S = 0.005, 0.05  # of the run, for gradients and weights; and before that is asked

    def __init__(self, watch: Watch, roots: Roots) -> None:
        super().__init__(watch)
        self.roots = roots
        self.weights = FrozenWeights()
        self._inputs: deque[Inputs] = deque(maxlen=self.STEPS)
        self._moments: list[Moment] = []  # of the step under way
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
        self._due = self._is_due()
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
        if gradient is not None:
            self._timed(self._send_flag, gradient, tell)

    def _send_flag(self, gradient: torch.Tensor, tell: Callable[[int], None]) -> None:
        flag, step = self.weights.see(gradient.sum(dtype=torch.float32)), self.watch.step
        self.watch.transfer.send(flag.clone().reshape(1), lambda found: None if found[0] == 0 else tell(step))

    def end_step(self) -> None:
        """Before the roots let go of their inputs."""
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
            if not self._inputs:
                self._limit_to(calls)
            self._inputs.append(Inputs(self.watch.step, tuple(self._moments), calls))
        self._moments, self._first = [], {}

    def _limit_to(self, calls: Mapping[str, tuple[Any, ...]]) -> None:
        """As many steps as the memory allows, by the size of the first."""
        tensors = [tensor for call, *_ in calls.values() for tensor in tensors_in(call)]
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        allowed = free_bytes(tensors[0].device) * self.SHARE_OF_FREE if tensors else 0.0
        most = self.STEPS if size == 0 else max(2, min(self.STEPS, int(allowed // size)))
        self._inputs = deque(maxlen=most)

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

    def remove(self) -> None:
        self.let_go()

    def _is_due(self) -> bool:
        now = time.perf_counter()
        self._began = now if self._began is None else self._began
        return self._spent_s <= self.FREE_S + self.SHARE_OF_TIME * (now - self._began)

    def _timed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        result = function(*arguments)
        self._spent_s += time.perf_counter() - start
        return result
