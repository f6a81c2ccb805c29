"""Arrays that the script shuffles apart: its source is read once, when its first loss is seen."""

from __future__ import annotations

from types import FrameType

import torch

from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.shuffles import shuffled_apart
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ShuffledPair


class ShuffledPairs:
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
        found = [pair for file in files for pair in shuffled_apart(file)]
        for pair in found[: self.MOST]:
            told = (pair.first, pair.second, pair.both, pair.place, self.watch.step, pair.index)
            self.watch.emit(ShuffledPair(*told))
