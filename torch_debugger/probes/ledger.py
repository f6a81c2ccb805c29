"""The parameter ledger: for every parameter, is it registered, trainable, held, used, reached, changed?

Filled on deep steps, after the update; told when it says something new.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import torch
from torch.optim import Optimizer

from torch_debugger.probes.forward import Forward
from torch_debugger.probes.held import Held
from torch_debugger.probes.left_out import LeftOut, is_left_out
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import LedgerFact, LedgerRow
from torch_debugger.stats.summary import norm
from torch_debugger.stats.unseen import no_grad


class Ledger(Probe):
    name = "ledger"
    deep_only = True
    ALWAYS_TOLD = 4  # the first ledgers of a root, whatever they say
    TOLD_THE_SAME = 2  # then each change is told and confirmed once

    def __init__(self, watch: Watch, roots: Roots, optimizers: Optimizers, forward: Forward) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.forward = forward
        self.left_out = LeftOut(watch, forward, optimizers)
        self.latest: dict[str, tuple[int, tuple[LedgerRow, ...]]] = {}  # root -> step, rows
        self._told: dict[str, tuple[int, int, tuple[LedgerRow, ...]]] = {}  # root -> times told, the same
        optimizers.before_update.append(self._read_gradients)
        self._gradients: dict[int, str] = {}  # parameter id -> none | zero | nonzero | notfinite

    def begin_step(self, depth: int) -> None:
        self._gradients = {}

    @no_grad()
    def _read_gradients(self, held: Held, optimizer: Optimizer) -> None:
        """Before the update of a deep step, while every gradient stands: of all roots it touches."""
        own = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for _, module in self.roots.alive():
            parameters = list(module.parameters())
            if any(id(parameter) in own for parameter in parameters):
                for parameter in parameters:
                    self._gradients.setdefault(id(parameter), gradient_state(parameter))

    def end_step(self) -> None:
        if self.watch.depth != DEEP or not self._gradients:
            return
        held = self.optimizers.parameter_ids()
        changed = {key: value for each, _ in self.optimizers.live() for key, value in each.changed.items()}
        for root, module in self.roots.alive():
            if root.trained or is_left_out(root, module, held):
                rows = tuple(self._rows(root, module, held, changed))
                self.latest[root.name] = (self.watch.step, rows)
                if root.trained:
                    self._tell(root, rows)

    def _rows(
        self, root: Root, module: torch.nn.Module, held: Collection[int], changed: dict[int, bool]
    ) -> list[LedgerRow]:
        rows = []
        for path, child in module.named_modules():
            for name, parameter in child.named_parameters(recurse=False):
                key = id(parameter)
                full = ".".join(part for part in (root.name, path, name) if part)
                state = self._gradients.get(key) or gradient_state(parameter)
                used = id(child) in self.forward.ran or state in ("nonzero", "notfinite")
                rows.append(
                    LedgerRow(
                        name=full,
                        elements=0 if torch.nn.parameter.is_lazy(parameter) else parameter.numel(),
                        trainable=parameter.requires_grad,
                        registered=True,
                        in_optimizer=key in held,
                        used=None if self.forward.paused else used,
                        gradient=state,
                        changed=changed.get(key),
                    )
                )
        return rows

    def _tell(self, root: Root, rows: tuple[LedgerRow, ...]) -> None:
        count, same, last = self._told.get(root.name, (0, 0, ()))
        same = same + 1 if rows == last else 1
        if count >= self.ALWAYS_TOLD and same > self.TOLD_THE_SAME:
            return
        self._told[root.name] = (count + 1, same, rows)
        stepped = tuple(held.name for held, _ in self.optimizers.live() if held.steps)
        self.watch.emit(LedgerFact(root.name, self.watch.step, stepped, rows))


def gradient_state(parameter: torch.Tensor) -> str:
    gradient = parameter.grad
    if gradient is None:
        return "none"
    if gradient.is_cuda:
        return "nonzero"  # by value would make the host wait; the norms tell zeros later
    values = gradient.coalesce().values() if gradient.is_sparse else gradient
    length = float(norm(values)) if values.numel() else 0.0
    if not math.isfinite(length):
        return "notfinite"
    return "nonzero" if length else "zero"
