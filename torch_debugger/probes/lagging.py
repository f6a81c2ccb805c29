"""What a step on an accelerator leaves behind until its numbers have arrived, some steps later.

Its inputs are kept by reference. Of the weights there are two copies on the device: one that is known to
be finite, since the loss computed with it was, and a younger one that waits for that news. The older
one is frozen when something is not finite, and that step is run again on it.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.moments import Moment, moment_without_graphs
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Probe, Watch
from torch_debugger.stats.memory import free_bytes

Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Inputs:
    step: int
    moments: Sequence[Moment]  # of the backward calls, one for each
    calls: Mapping[str, tuple[Call, torch.Tensor | None, torch.Tensor | None]]  # root -> call, random states


@dataclass
class Weights:
    step: int  # the update of which they precede
    copies: dict[int, tuple[torch.Tensor, torch.Tensor]]  # parameter id -> parameter, its copy


class Lagging(Probe):
    name = "steps under way"
    STEPS = 6  # kept; a device rarely lags behind by more than two
    BACKWARDS = 4  # of a step
    EVERY = 4  # steps between two copies of the weights
    SHARE_OF_FREE = 1 / 16  # of the free memory, that the copies may take

    def __init__(self, watch: Watch, roots: Roots) -> None:
        super().__init__(watch)
        self.roots = roots
        self._inputs: deque[Inputs] = deque(maxlen=self.STEPS)
        self._moments: list[Moment] = []  # of the step under way
        self._good: Weights | None = None
        self._waiting: Weights | None = None
        self._allowed: bool | None = None
        self._copied = -self.EVERY

    def end_step(self) -> None:
        """Before the roots let go of their inputs."""
        if not self.roots.any_lags:
            return
        calls = {
            root.name: (root.call, root.rng_state, root.device_rng)
            for root, _ in self.roots.alive()
            if root.call is not None and root.lags
        }
        if calls:
            self._inputs.append(Inputs(self.watch.step, tuple(self._moments), calls))
        self._moments = []

    def backward_called(self, frame: FrameType | None) -> None:
        if frame is not None and len(self._moments) < self.BACKWARDS:
            self._moments.append(moment_without_graphs(frame))

    def of(self, step: int) -> Inputs | None:
        return next((kept for kept in self._inputs if kept.step == step), None)

    @torch.no_grad()
    def before_update(self, ready: list[torch.Tensor]) -> None:
        """Copies the weights now and then; they are confirmed by the loss that was computed with them."""
        if self._waiting is not None or self.watch.step - self._copied < self.EVERY:
            return
        if self._allowed is None:
            self._allowed = self.watch.transfer.lags(ready[0]) and _fits(ready, self.SHARE_OF_FREE)
        if not self._allowed:
            return
        self._copied = self.watch.step
        homes = [torch.empty_like(p) for p in ready]
        torch._foreach_copy_(homes, [p.detach() for p in ready])
        copies = {id(p): (p, home) for p, home in zip(ready, homes, strict=True)}
        self._waiting = Weights(self.watch.step, copies)

    def loss_arrived(self, step: int, finite: bool) -> None:
        if finite and self._waiting is not None and step >= self._waiting.step:
            self._good, self._waiting = self._waiting, None

    def let_go(self) -> None:
        self._inputs.clear()
        self._moments = []
        self._good = self._waiting = None
        self._allowed = False

    def remove(self) -> None:
        self.let_go()

    @contextlib.contextmanager
    def old_weights(self) -> Iterator[int | None]:
        """The parameters hold their finite copies for a while; yields the step of those, None without any."""
        if self._good is None:
            yield None
            return
        held = [(parameter, parameter.data, copy) for parameter, copy in self._good.copies.values()]
        for parameter, _, copy in held:
            parameter.data = copy
        try:
            yield self._good.step
        finally:
            for parameter, data, _ in held:
                parameter.data = data


def _fits(tensors: list[torch.Tensor], share: float) -> bool:
    needed = 2 * sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return needed <= free_bytes(tensors[0].device) * share
