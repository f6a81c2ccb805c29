"""Batches drawn by hand from the same seed each time: the script's source is read once, at its first loss."""

from __future__ import annotations

from types import FrameType

import torch

from torch_debugger.anatomy.fixed_draws import fixed_orders
from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FixedDraw


class FixedOrders:
    MOST = 2  # told
    FILES = 8

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._looked = False

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._looked:
            return
        self._looked = True
        running = dict.fromkeys(each.f_code.co_filename for each in frames(2))
        files = [file for file in running if is_user_file(file)][: self.FILES]
        found = [order for file in files for order in fixed_orders(file)]
        for order in found[: self.MOST]:
            told = (order.function, order.each, order.seed, order.call)
            self.watch.emit(FixedDraw(*told, self.watch.step))
