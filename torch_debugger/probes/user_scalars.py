"""Numbers the script logs through a SummaryWriter (torch, tensorboardX, ours) or wandb: kept as user/<tag>.

One that is logged behind the optimizer's step belongs to the step just done, and so does the validation that
follows. The next step is under way once a loader gave a batch to train on, or autograd made a node.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.clocks import time
from torch_debugger.imports import when_imported
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Scalars
from torch_debugger.stats.unseen import item_of
from torch_debugger.tracebacks import hidden_in_tracebacks

_WRITERS = ("torch.utils.tensorboard.writer", "tensorboardX.writer", "torch_debugger.summaries.writer")


class UserScalars(Probe):
    name = "logged scalars"

    def __init__(self, watch: Watch, loaders: Loaders) -> None:
        super().__init__(watch)
        self._loaders = loaders
        self._stop: list[Any] = []
        self._of_last_step: dict[str, float] = {}
        self._logged = 0.0  # when the first of these was
        self._activity: tuple[int, int] | None = None  # when the last step ended

    def install(self, patches: Patches) -> None:
        for name in _WRITERS:
            self._stop.append(when_imported(name, functools.partial(self._meet_writer, patches)))
        self._stop.append(when_imported("wandb", functools.partial(self._meet_wandb, patches)))

    def remove(self) -> None:
        for stop in self._stop:
            stop()

    def end_step(self) -> None:
        self._say_of_last_step()
        self._activity = self._activity_now()

    def _say_of_last_step(self) -> None:
        if self._of_last_step:
            self.watch.emit(Scalars(self.watch.clock.step, self._logged, self._of_last_step))
            self._of_last_step = {}

    def _activity_now(self) -> tuple[int, int]:
        return self._loaders.batches_to_train_on, torch._C._autograd._get_sequence_nr()

    def _meet_writer(self, patches: Patches, module: Any) -> None:
        writer = getattr(module, "SummaryWriter", None)
        if writer is not None:
            self.watch.probe(self.name, patches.replace, writer, "add_scalar", self._around_add_scalar)

    def _meet_wandb(self, patches: Patches, module: Any) -> None:
        run = getattr(module, "Run", None)
        if run is not None:  # wandb.init() sets wandb.log anew, to the log of its run
            self.watch.probe(self.name, patches.replace, run, "log", self._around_run_log)
        if hasattr(module, "log"):
            self.watch.probe(self.name, patches.replace, module, "log", self._around_log)

    def _around_add_scalar(self, original: Any) -> Any:
        @functools.wraps(original)
        def add_scalar(writer: Any, tag: Any, scalar_value: Any, *arguments: Any, **keywords: Any) -> Any:
            self.watch.probe(self.name, self._take, {tag: scalar_value})
            with hidden_in_tracebacks:
                return original(writer, tag, scalar_value, *arguments, **keywords)

        return add_scalar

    def _around_log(self, original: Any) -> Any:
        @functools.wraps(original)
        def log(data: Any, *arguments: Any, **keywords: Any) -> Any:
            if is_a(data, dict):
                self.watch.probe(self.name, self._take, data)
            with hidden_in_tracebacks:
                return original(data, *arguments, **keywords)

        return log

    def _around_run_log(self, original: Any) -> Any:
        @functools.wraps(original)
        def log(run: Any, data: Any, *arguments: Any, **keywords: Any) -> Any:
            if is_a(data, dict):
                self.watch.probe(self.name, self._take, data)
            with hidden_in_tracebacks:
                return original(run, data, *arguments, **keywords)

        return log

    def _take(self, values: dict[Any, Any]) -> None:
        numbers = {
            f"user/{tag}": number for tag, value in values.items() if (number := _number(value)) is not None
        }
        if not self.watch.clock.step or self._activity_now() != self._activity:
            self.watch.scalars |= numbers
        else:
            self._logged = self._logged if self._of_last_step else time.time()
            self._of_last_step |= numbers


def _number(value: Any) -> float | None:
    """Plain numbers and one-element CPU tensors or arrays; never a sync with a device."""
    if issubclass(type(value), (int, float)):
        return float(value)
    if issubclass(type(value), torch.Tensor):
        return float(item_of(value)) if value.is_cpu and value.numel() == 1 else None
    is_array = issubclass(type(value), (numpy.ndarray, numpy.generic))
    return float(value.item()) if is_array and value.size == 1 else None
