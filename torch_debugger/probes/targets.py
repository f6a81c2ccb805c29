"""What a loss function compares the model with, as autograd has saved it (some steps)."""

from __future__ import annotations

import dataclasses
import functools
from types import FrameType
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.frames import place_of
from torch_debugger.anatomy.graph_nodes import op_name, saved, walk_nodes
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.loss_variable import loss_name
from torch_debugger.anatomy.statements import assignment_before
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.inputs import LayerInputs
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, TargetLook
from torch_debugger.stats.transfer import Numbers
from torch_debugger.stats.unseen import no_grad

_LOSSES = (
    "NllLoss",
    "BinaryCrossEntropyWithLogits",
    "BinaryCrossEntropy",
    "MseLoss",
    "SmoothL1Loss",
    "HuberLoss",
)
_CLASSIFY = ("NllLoss", "BinaryCrossEntropyWithLogits", "BinaryCrossEntropy")
_NEAR = 24  # nodes from the loss on
_SAMPLES, _NUMBERS = 1024, 2**16
_CLASSES = 64


class Targets:
    LOOKS = 60

    def __init__(self, watch: Watch, inputs: LayerInputs, backward: Backward) -> None:
        self.watch = watch
        self.inputs = inputs
        self.backward = backward
        self._looks = 0
        self._made: dict[Place, Place] = {}  # the call of backward() -> the line that computes its loss

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._looks >= self.LOOKS or loss.grad_fn is None or self.backward.saved_hooks:
            return
        nodes, _, _ = walk_nodes(loss.grad_fn, _NEAR)
        found = [node for node in nodes if op_name(node) in _LOSSES]
        if len(found) == 1:  # of several, none is the model's one target
            self._look(found[0], frame)

    @no_grad()
    def _look(self, node: Any, frame: FrameType | None) -> None:
        target = saved(node, "_saved_target")
        if not _plain(target):
            return
        self._looks += 1
        op, site = op_name(node), place_of(frame)
        target = target[: max(1, min(_SAMPLES, _NUMBERS // target[0].numel()))]
        look = TargetLook(
            loss_name(site),
            op,
            tuple(target.shape),
            str(target.dtype).removeprefix("torch."),
            {},
            (),
            self.watch.step,
            self._maker(site),
        )
        both = torch.cat([target.reshape(-1).float(), _same_columns(self.inputs.table(), target)])
        self.watch.transfer.send(both, functools.partial(self._tell, look, target.numel()))

    def _tell(self, look: TargetLook, count: int, numbers: Numbers) -> None:
        """The targets themselves, then a flag for each column that holds them."""
        labels = _counted(numbers[:count]) if look.op in _CLASSIFY else {}
        copies = tuple(int(column) for column in numpy.flatnonzero(numbers[count:])[:8])
        self.watch.emit(dataclasses.replace(look, labels=labels, copied_to=copies))

    def _maker(self, site: Place) -> Place:
        if site not in self._made:
            self._made[site] = assignment_before(site, loss_name(site)) or site
        return self._made[site]


def _plain(value: Any) -> bool:
    return is_a(value, torch.Tensor) and value.layout is torch.strided and 0 < value.dim() <= 2


def _counted(labels: Numbers) -> dict[str, int]:
    values, counts = numpy.unique(labels, return_counts=True)
    if len(values) > _CLASSES or not (values == values.round()).all():
        return {}
    return {str(int(value)): int(count) for value, count in zip(values, counts, strict=True)}


def _same_columns(table: torch.Tensor | None, target: torch.Tensor) -> torch.Tensor:
    """1 for each column that holds the very target, sample by sample; empty where there is no such table."""
    wanted = target.reshape(len(target), -1)
    if table is None or wanted.shape[1] != 1 or len(table) < len(wanted) or table.device != target.device:
        return torch.empty(0, device=target.device)
    return (table[: len(wanted)].to(torch.float64) == wanted.to(torch.float64)).all(0).float()
