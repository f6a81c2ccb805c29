"""Weights that are plain tensors of the script's own, at the first loss: how large they were drawn."""

from __future__ import annotations

import math
import statistics
from types import FrameType

import torch

from torch_debugger.anatomy.weight_fills import drawn_leaf
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.layer_health import nodes_behind
from torch_debugger.probes.watch import Watch
from torch_debugger.records import HandMadeWeights, Place
from torch_debugger.stats.unseen import item_of, no_grad


class HandMade:
    SMALLEST = 256  # elements

    def __init__(self, watch: Watch, backward: Backward) -> None:
        self.watch = watch
        self.backward = backward
        self._looked = False

    @no_grad()
    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._looked or loss.is_cuda:
            return
        self._looked = True
        names = self.backward.roots.path_of_parameter()
        leaves = [getattr(node, "variable", None) for node in nodes_behind(loss.grad_fn)]
        own = [leaf for leaf in leaves if leaf is not None and id(leaf) not in names]
        spreads = [_spread(leaf) for leaf in own if leaf.dim() == 2 and leaf.numel() >= self.SMALLEST]
        if spreads:
            place = drawn_leaf(frame.f_code.co_filename if frame is not None else None) or Place()
            told = (len(spreads), statistics.median(spreads), place)
            self.watch.emit(HandMadeWeights(*told, self.watch.step))


def _spread(weight: torch.Tensor) -> float:
    """Which of its sizes counts inputs is not known: the smaller one says less."""
    return item_of(weight.detach().float().square().mean().sqrt()) * math.sqrt(min(weight.shape))
