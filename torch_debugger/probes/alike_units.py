"""Units that are alike: rows of a weight matrix that are equal, with gradients that keep them so.

Looked for on deep steps, before the update. Nearly every matrix differs at the first look and is never
looked at again.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.optim import Optimizer

from torch_debugger.anatomy.weight_fills import constant_fill
from torch_debugger.probes.held import Held
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, TwinUnits
from torch_debugger.stats.shards import own_part
from torch_debugger.stats.unseen import no_grad

_FEWEST = 4  # units; of two or three a matrix may well be symmetric


class AlikeUnits:
    # Equal up to the rounding of sums in another order.
    tolerance = 1e-5
    MOST = 256  # matrices in one look; the others' turn comes when these are known to differ

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._different: set[int] = set()  # ids of parameters whose units differ; they stay so
        self._told = False

    @no_grad()
    def look(self, held: Held, optimizer: Optimizer) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        matrices = [p for p in parameters if _is_candidate(p)]
        waiting = [p for p in matrices if id(p) not in self._different][: self.MOST]
        if waiting or self._told:
            numbers = [compare_rows(p) for p in waiting]
            values = (
                torch.stack([each.to(numbers[0].device) for each in numbers]) if numbers else torch.empty(0)
            )
            tell = functools.partial(self._tell, held, waiting, len(matrices), self.watch.step)
            self.watch.transfer.send(values.flatten(), tell)

    def _tell(self, held: Held, matrices: list[torch.Tensor], total: int, step: int, found: Any) -> None:
        alike, silent = [], []
        for matrix, (weights, gradients, size) in zip(matrices, found.reshape(-1, 3), strict=True):
            if weights > self.tolerance:
                self._different.add(id(matrix))
            elif size == 0.0:
                silent.append(matrix)
            elif gradients <= self.tolerance:
                alike.append(matrix)
        if alike or silent or self._told:
            self._told = bool(alike or silent)
            names = self.optimizers.looks.names
            where = self._where(held, (alike or silent)[0]) if self._told else Place()
            self.watch.emit(TwinUnits(held.name, step, names(alike), names(silent), total, where))

    def _where(self, held: Held, parameter: torch.Tensor) -> Place:
        for _, module in self.optimizers.looks.roots.alive():
            for child in module.modules():
                for name, own in child.named_parameters(recurse=False):
                    if own is parameter:
                        return constant_fill(child, name, held.place.file) or Place()
        return Place()


def _is_candidate(parameter: torch.Tensor) -> bool:
    gradient = parameter.grad
    return (
        gradient is not None
        and gradient.layout is torch.strided
        and parameter.dim() >= 2
        and parameter.shape[0] >= _FEWEST
        and parameter.is_floating_point()
    )


def compare_rows(parameter: torch.Tensor) -> torch.Tensor:
    """[how far neighbouring rows differ, the same of the gradient, size of the gradient], relative to the rows.

    Two pairs: the gates of an LSTM lie in one matrix, and units are alike within a gate.
    """
    assert parameter.grad is not None
    matrix, gradient = own_part(parameter), own_part(parameter.grad)
    rows = torch.tensor([0, matrix.shape[0] // 2], device=matrix.device)
    return torch.stack((_apart(matrix, rows), _apart(gradient, rows), gradient.abs().amax().float()))


def _apart(matrix: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    first, second = matrix.detach()[rows].float(), matrix.detach()[rows + 1].float()
    return (first - second).abs().amax() / first.abs().amax().clamp_min(1e-30)
