"""How the values of each layer are spread: its outputs, its weights and their gradients.

A few hundred elements of each tensor, from all over it, travel to the host as all other numbers do and are
sorted there; what is kept is some of their quantiles. Taken on some deep steps, ever more rarely: a look costs
60 to 100 us a tensor, a fourteenth of what a deep step costs anyway.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy
import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.anatomy.running import in_backward, in_transform
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.held import Held
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Table, TensorRows
from torch_debugger.records.rows import QUANTILES
from torch_debugger.stats.scattered import Scattered
from torch_debugger.stats.summary import measurable
from torch_debugger.stats.unseen import no_grad

Samples = dict[str, torch.Tensor]


class Spreads(Probe):
    name = "spreads"
    deep_only = True
    SAMPLE = 512  # elements of one tensor
    LIMIT = 256  # tensors of a kind in one step
    GROWTH = 1.5  # of the step number from one look to the next

    def __init__(self, watch: Watch, forward: Forward, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self._looking = False
        self._last = 0
        self._samples: dict[str, Samples] = {}
        self._scattered = Scattered(self.SAMPLE)
        self._optimizers = optimizers
        forward.on_output.append(self._hear_output)
        optimizers.before_update.append(self._hear_update)

    def begin_step(self, depth: int) -> None:
        self._samples = {}
        self._looking = depth == DEEP and self.watch.step >= self._last * self.GROWTH

    def end_step(self) -> None:
        found, self._samples = self._samples, {}
        if found:
            self._last = self.watch.step
        for kind, samples in found.items():
            for names, rows in _by_size(samples):
                table = Table(kind, names[0].split(".")[0], names, tuple(map(str, QUANTILES)))
                self.watch.transfer.send(rows, functools.partial(self._deliver, table, self.watch.step))

    def give_up(self) -> None:
        self._looking, self._samples = False, {}

    def remove(self) -> None:
        self.give_up()

    # Heard through other probes, so each has a guard of its own: a fault of ours must not take those off

    def _hear_output(self, path: str, module: nn.Module, given: Any, output: Any) -> None:
        if self._looking:
            self.watch.probe(self.name, self._take_output, path, module, output)

    def _hear_update(self, held: Held, optimizer: Optimizer) -> None:
        if self._looking:
            self.watch.probe(self.name, self._take_parameters, optimizer)

    def _take_output(self, path: str, module: nn.Module, output: Any) -> None:
        if next(module.children(), None) is None and not in_backward() and not in_transform():
            self._take("activation_spread", path, first_tensor(output))

    def _take_parameters(self, optimizer: Optimizer) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        scale = getattr(optimizer, "grad_scale", None)
        for name, parameter in zip(self._optimizers.looks.names(parameters), parameters, strict=True):
            self._take("weight_spread", name, parameter)
            self._take("gradient_spread", name, parameter.grad, scale)

    @no_grad()
    def _take(self, kind: str, name: str, tensor: Any, scale: Any = None) -> None:
        samples = self._samples.setdefault(kind, {})
        if name not in samples and len(samples) < self.LIMIT and measurable(tensor) and tensor.numel() > 1:
            sample = self._scattered.copy(tensor).float()
            samples[name] = sample if scale is None else sample / scale

    def _deliver(self, table: Table, step: int, samples: Any) -> None:
        self.watch.emit(TensorRows(step, table, quantiles_of(samples)))


def quantiles_of(samples: Any) -> Any:
    """Of each row, the values nearest to QUANTILES; NaN counts as larger than all others."""
    last = samples.shape[1] - 1
    places = numpy.rint(numpy.array(QUANTILES) * last).astype(int)
    return numpy.sort(samples, axis=1)[:, places]


def _by_size(samples: Samples) -> list[tuple[tuple[str, ...], torch.Tensor]]:
    """Rows of one length and one device together: they travel and are sorted as one."""
    groups: dict[tuple[torch.device, int], list[str]] = {}
    for name, sample in samples.items():
        groups.setdefault((sample.device, len(sample)), []).append(name)
    return [(tuple(names), torch.stack([samples[name] for name in names])) for names in groups.values()]
