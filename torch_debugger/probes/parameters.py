"""Looks at an optimizer's parameters: norms before the update, and how far the update moved them."""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from torch import isfinite
from torch._C._autograd import _profiler_enabled
from torch.optim import Optimizer

from torch_debugger.probes.held import Held
from torch_debugger.probes.nonfinite import NonFiniteHunt
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.strays import Strays
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, Table, TensorRows
from torch_debugger.stats.shards import own_part
from torch_debugger.stats.summary import norms, sampled
from torch_debugger.stats.unseen import item_of, no_grad

COLUMNS = ("grad_norm", "weight_norm", "elements")
UPDATE_COLUMNS = ("ratio", "change")
# numpy's warnings of an overflow would be printed among the user's, or raised where the user asks for that
_silently = functools.partial(numpy.errstate, all="ignore")


class ParameterLook:
    def __init__(self, watch: Watch, roots: Roots, strays: Strays, hunt: NonFiniteHunt) -> None:
        self.watch = watch
        self.roots = roots
        self.strays = strays
        self.hunt = hunt
        self.several = False  # more than one optimizer: their numbers need names
        self.on_count: list[Callable[[], None]] = []  # told now and then, also between deep steps

    def names(self, parameters: list[torch.Tensor]) -> tuple[str, ...]:
        known = self.strays.parameters | self.roots.path_of_parameter()
        return tuple(known.get(id(p), f"unnamed[{number}]") for number, p in enumerate(parameters))

    def notice_growth(self) -> None:
        """A model that has other parameters than before (a new head, a grown layer) gets a closer look."""
        for root, module in self.roots.alive():
            count = sum(1 for _ in module.parameters())
            if root.parameters not in (0, count):
                self.watch.governor.request(2)
            root.parameters = count
        for listen in self.on_count:
            listen()

    @no_grad()
    def before_update(self, held: Held, ready: list[torch.Tensor], backward: Place) -> None:
        """`ready` are the parameters that have a dense gradient."""
        both = norms([p.grad for p in ready if p.grad is not None] + ready)
        scale = getattr(held.optimizer(), "grad_scale", None)
        if scale is not None:  # a fused optimizer unscales its gradients only while it uses them
            both[: len(ready)] /= scale
        table, elements = self._heading(held, ready)
        step = self.watch.step
        deliver = functools.partial(
            self._deliver,
            optimizer=held.name,
            table=table,
            elements=elements,
            ready=ready,
            backward=backward,
            step=step,
        )
        if self.hunt.policy.waits:
            deliver(both.cpu().float().numpy())
        else:
            self.watch.transfer.send(both, deliver)
        held.carry.at_step(step, held.name, backward, self.watch.transfer, self.watch.emit)
        held.carry.choose(ready, table.names)
        self.hunt.lagging.before_update(ready, None if self.hunt.scaled else both)
        if self.watch.depth == DEEP and not self.watch.guard.is_over():
            held.before = {id(p): sampled(p).clone() for p in ready}

    def glance(self, held: Held, backward: Place) -> bool:
        """Is that one gradient not finite? From a device, the news of it comes some steps late."""
        gradient = held.sentinel.grad if held.sentinel is not None else None
        if gradient is None or _profiler_enabled():  # what the script's profiler shows is the script's
            return False
        if not self.watch.transfer.lags(gradient):
            return not cmath.isfinite(item_of(gradient.sum()))
        scaled = self.hunt.scaled  # what a GradScaler makes infinite is its own affair
        tell = functools.partial(self._tell_late, held, backward)
        self.hunt.lagging.see_gradient(None if scaled else gradient, tell)
        return False

    def _tell_late(self, held: Held, backward: Place, step: int) -> None:
        names = self.names([held.sentinel]) if held.sentinel is not None else ()
        self.hunt.gradient_is_not_finite(names, backward, step)

    def _heading(self, held: Held, ready: list[torch.Tensor]) -> tuple[Table, Any]:
        """Names are looked up again only when other parameters have gradients than before."""
        keys = [id(p) for p in ready]
        if held.table is None or held.keys != keys:
            if held.table is not None:
                self.watch.governor.request(2)  # other parameters than before get gradients
            held.keys, held.table = keys, Table("parameter", held.name, self.names(ready), COLUMNS)
            held.elements = numpy.array([own_part(p).numel() for p in ready], dtype=numpy.float32)
        return held.table, held.elements

    def _deliver(
        self,
        found: Any,
        optimizer: str,
        table: Table,
        elements: Any,
        ready: list[torch.Tensor],
        backward: Place,
        step: int,
    ) -> None:
        count = len(table.names)
        gradient, weight = found[:count], found[count:]
        with _silently():
            total, weight_norm = math.sqrt(float(gradient @ gradient)), math.sqrt(float(weight @ weight))
        suffix = f"/{optimizer}" if self.several else ""
        self.watch.say(step, {f"grad_norm{suffix}": total, f"weight_norm{suffix}": weight_norm})
        self.watch.emit(TensorRows(step, table, numpy.stack((gradient, weight, elements), axis=1)))
        if not math.isfinite(total):
            wrong = _not_finite(table.names, gradient, [p.grad for p in ready])
            if wrong:  # else only the sum of large squares overflowed
                self.hunt.gradient_is_not_finite(wrong, backward, step)
        if not math.isfinite(weight_norm):
            wrong = _not_finite(table.names, weight, ready)
            if wrong:
                self.hunt.weights_are_not_finite(wrong, backward, step)

    @no_grad()
    def after_update(self, held: Held, optimizer: Optimizer) -> None:
        before, held.before = held.before, {}
        present = {id(p): p for group in optimizer.param_groups for p in group["params"]}
        kept = [(present[key], sample) for key, sample in before.items() if key in present]
        changes = norms([sampled(p) - sample for p, sample in kept])
        sizes = norms([sample for _, sample in kept])
        names, step = self.names([p for p, _ in kept]), self.watch.step
        keys = [id(p) for p, _ in kept]

        def deliver(found: Any) -> None:
            change, size = found[: len(keys)], found[len(keys) :]
            held.changed = {key: bool(value != 0) for key, value in zip(keys, change, strict=True)}
            with _silently():
                ratio = change / numpy.maximum(size, 1e-12)
            table = Table("update", held.name, names, UPDATE_COLUMNS)
            self.watch.emit(TensorRows(step, table, numpy.stack((ratio, change), axis=1)))

        self.watch.transfer.send(torch.cat((changes, sizes)), deliver)


def _not_finite(names: Sequence[str], norms: Any, tensors: Sequence[torch.Tensor | None]) -> tuple[str, ...]:
    found = zip(names, norms, tensors, strict=True)
    return tuple(name for name, norm, tensor in found if not math.isfinite(norm) and not _is_finite(tensor))


def _is_finite(tensor: torch.Tensor | None) -> bool:
    """By its elements, where that makes no host wait: a norm adds up squares, which overflow at 1e19."""
    return tensor is not None and tensor.device.type == "cpu" and bool(isfinite(tensor).all())
