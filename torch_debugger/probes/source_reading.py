"""What a script's source tells by itself, read once, when its first loss is seen: arrays that are shuffled
apart, and batches drawn by hand from the same seed each time."""

from __future__ import annotations

import itertools
from types import FrameType

import torch

from torch_debugger.anatomy.fixed_draws import fixed_orders
from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.shuffles import shuffled_apart
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FixedDraw, ShuffledPair


class SourceReading:
    MOST = 2  # told of each kind
    FILES = 8

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._read = False

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._read:
            return
        self._read = True
        running = dict.fromkeys(each.f_code.co_filename for each in frames(2))
        files = [file for file in running if is_user_file(file)][: self.FILES]
        for pair in itertools.islice((pair for file in files for pair in shuffled_apart(file)), self.MOST):
            told = (pair.first, pair.second, pair.both, pair.place, self.watch.step, pair.index)
            self.watch.emit(ShuffledPair(*told))
        for order in itertools.islice((order for file in files for order in fixed_orders(file)), self.MOST):
            self.watch.emit(FixedDraw(order.function, order.each, order.seed, order.call, self.watch.step))
