"""What this rank has, as a few checksums: weights, gradients, and what its models were given.

On steps chosen by their number alone, so that all ranks choose the same ones without asking each other. The
checksums are made on the device and read when they have come; no collective is called for them. Half a
millisecond each time, some sixty times in a thousand steps.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.probes.averages import Averages
from torch_debugger.probes.collectives import Collectives
from torch_debugger.probes.inputs import model_call
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CalledModel, GradientAverage, Place, RankDigest
from torch_debugger.stats.checksums import checksums
from torch_debugger.stats.summary import norms
from torch_debugger.stats.transfer import Numbers
from torch_debugger.stats.unseen import no_grad

_GIVEN_ELEMENTS = 1024  # of a tensor that a model is given


class RankDigests(Probe):
    name = "rank digests"
    IN_A_DOUBLING = 8  # of the steps
    SELDOMEST = 256  # never rarer than each of these
    PARAMETERS = 32
    CALLS = 8  # of models, in a step
    TENSORS = 4  # of a call

    def __init__(self, watch: Watch, roots: Roots, optimizers: Optimizers, collectives: Collectives) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.collectives = collectives
        self.averages = Averages()
        self._handles: list[RemovableHandle] = []
        self._step = 0  # the last one that was due
        self._calls: list[tuple[str, str, Place, torch.Tensor]] = []
        roots.on_call.append(self._see_call)

    def install(self, patches: Patches) -> None:
        if torch.distributed.is_available():
            self._handles = [
                self.averages.listen(self.watch),
                register_optimizer_step_pre_hook(self._before_step),
            ]

    def remove(self) -> None:
        self._calls = []
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def end_step(self) -> None:
        """What was noted belongs to the step that is over; whether the next one is due is known already."""
        self._calls = []
        due = is_due(self.watch.step + 1) and _is_one_of_several()
        self.collectives.reduced = set() if due else None
        self.collectives.reduced_sizes = set()

    def _see_call(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if not is_due(self.watch.step) or len(self._calls) >= self.CALLS or not _is_one_of_several():
            return
        given = [tensor for tensor in tensors_in((arguments, keywords)) if _is_readable(tensor)][: self.TENSORS]
        module = root.module()
        if given and module is not None and len({tensor.device for tensor in given}) == 1:
            sums = checksums(given, _GIVEN_ELEMENTS)
            self._calls.append((root.name, self.averages.role_of(module), model_call(), sums))

    def _before_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if not torch.compiler.is_compiling() and is_due(self.watch.step):  # in this order: it is traced
            self.watch.probe(self.name, self._look, optimizer)

    @no_grad()
    def _look(self, optimizer: Optimizer) -> None:
        if not _is_one_of_several():
            return
        held = self.optimizers.held.get(id(optimizer))
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        whole = [p for p in parameters if _is_readable(p) and p.dtype.is_floating_point]
        average = self.averages.of(parameters, self.roots, self.collectives)
        shards = len(whole) < len(parameters) or (average is not None and average.kind == "FSDP")
        looked_at = [] if shards else _spread(whole, self.PARAMETERS)
        graded = [p for p in looked_at if p.grad is not None and _is_readable(p.grad)]
        parts = self._numbers(looked_at, [p.grad for p in graded if p.grad is not None])
        if parts is None:
            return
        names = self.optimizers.looks.names(looked_at) if looked_at else ()
        told = functools.partial(
            self._tell,
            self.watch.step,
            list(self.optimizers.held).index(id(optimizer)) if held is not None else -1,
            average,
            names,
            tuple(str(tuple(p.shape)) for p in looked_at),
            tuple(any(p is each for each in graded) for p in looked_at),
            tuple(_rate(group.get("lr")) for group in optimizer.param_groups),
            [(root, role, call, sums.numel()) for root, role, call, sums in self._calls],
            (held.steps if held is not None else 0, self.watch.clock.backwards),
        )
        self.watch.transfer.send(torch.cat([part.float() for part in parts]), told)

    def _numbers(self, weights: list[torch.Tensor], gradients: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """None where there is nothing to tell, or one model lies on several devices."""
        if len({tensor.device for tensor in (*weights, *gradients)}) > 1:
            return None
        # A wrapper may bring its inputs from the host to its device itself.
        parts = [
            sums.to(weights[0].device) if weights and sums.device.type == "cpu" else sums
            for *_, sums in self._calls
        ]
        if weights:
            parts += [checksums(weights), norms([weight.detach() for weight in weights])]
        if gradients:
            parts.append(checksums(gradients))
        return parts if len({part.device for part in parts}) == 1 else None

    def _tell(
        self,
        step: int,
        optimizer: int,
        average: GradientAverage | None,
        names: tuple[str, ...],
        shapes: tuple[str, ...],
        graded: tuple[bool, ...],
        rates: tuple[float, ...],
        calls: list[tuple[str, str, Place, int]],
        counts: tuple[int, int],
        numbers: Numbers,
    ) -> None:
        found = iter(numbers.tolist())
        called = [
            CalledModel(root, role, call, tuple(int(next(found)) for _ in range(count)))
            for root, role, call, count in calls
        ]
        weights = tuple(int(next(found)) for _ in names)
        sizes = tuple(next(found) for _ in names)
        gradients = tuple(int(next(found)) if there else -1 for there in graded)
        self.watch.emit(
            RankDigest(
                step,
                optimizer,
                average,
                names,
                shapes,
                weights,
                gradients,
                sizes,
                rates,
                tuple(called),
                *counts,
            )
        )


def is_due(step: int) -> bool:
    """1 to 16, 18, 20 to 32, 36, 40 and so on: two ranks agree without a word."""
    doubling = 1 << (step.bit_length() - 1)
    return step % min(max(doubling // RankDigests.IN_A_DOUBLING, 1), RankDigests.SELDOMEST) == 0


def _is_one_of_several() -> bool:
    return torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1


def _is_readable(tensor: torch.Tensor) -> bool:
    own = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it is a shard, or fake
    plain = own and tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
    return plain and not tensor.is_quantized and tensor.numel() > 0


def _spread(parameters: list[torch.Tensor], most: int) -> list[torch.Tensor]:
    """The first, the last and some between: those at the end are the first to have gradients."""
    if len(parameters) <= most:
        return parameters
    chosen = {round(place * (len(parameters) - 1) / (most - 1)) for place in range(most)}
    return [parameters[place] for place in sorted(chosen)]


def _rate(rate: Any) -> float:
    """A rate that lies on a device is not asked for."""
    return float(rate) if isinstance(rate, (int, float)) else 0.0
