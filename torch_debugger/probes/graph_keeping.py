"""Who keeps the graphs of earlier steps: looked for on deep steps, among the variables around a backward()."""

from __future__ import annotations

import weakref
from types import FrameType

import torch

from torch_debugger.anatomy.additions import addition_to
from torch_debugger.anatomy.kept_graphs import Hoard, hoards, sums
from torch_debugger.probes.watch import Watch
from torch_debugger.records import KeptGraphs


class GraphKeeping:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._oldest: dict[str, tuple[weakref.ref[torch.Tensor], int]] = {}  # name -> its first tensor, since
        self._sums: dict[str, int] = {}  # name -> the step at which it was first a sum

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if frame is None:
            return
        for hoard in hoards(frame):
            since = self._since(hoard)
            if since < self.watch.step:
                self._tell(hoard, "container", since, frame)
        for hoard in sums(frame, loss):
            self._tell(hoard, "sum", self._sums.setdefault(hoard.name, self.watch.step), frame)

    def _since(self, hoard: Hoard) -> int:
        """When its oldest tensor was first seen there: a list that is emptied starts anew."""
        known = self._oldest.get(hoard.name)
        if known is not None and known[0]() is hoard.oldest:
            return known[1]
        self._oldest[hoard.name] = (weakref.ref(hoard.oldest), self.watch.step)
        return self.watch.step

    def _tell(self, hoard: Hoard, form: str, since: int, frame: FrameType) -> None:
        place, added = addition_to(frame.f_code.co_filename, hoard.name)
        scalar = hoard.oldest.numel() == 1
        step = self.watch.step
        self.watch.emit(KeptGraphs(hoard.name, form, hoard.count, since, scalar, place, added, step))
