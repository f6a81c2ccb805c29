"""Who keeps the graphs of earlier steps: looked for on deep steps, among the variables around a backward()."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.additions import addition_to, carried_over
from torch_debugger.anatomy.kept_graphs import Hoard, hoards, steps_behind, sums
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.user_variables import variables_in_reach, waiting_generators, yields
from torch_debugger.probes.node_numbers import StepNumbers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import KeptGraphs, Place


class GraphKeeping:
    def __init__(self, watch: Watch, numbers: StepNumbers) -> None:
        self.watch = watch
        self.numbers = numbers
        self._oldest: dict[str, tuple[weakref.ref[torch.Tensor], int]] = {}  # name -> its first tensor, since
        self._generators: list[weakref.ref[Any]] | None = None  # of the user's, looked for once
        self._since_first: dict[str, int] = {}  # name -> the step at which it was first a sum or a chain

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if frame is None:
            return
        file = frame.f_code.co_filename
        if self._generators is None and self.watch.step > 1:  # by then the loop over one has begun
            self._generators = waiting_generators() if yields(file) else []
        waiting = [generator() for generator in self._generators or ()]
        variables = list(variables_in_reach(frame, waiting))
        for hoard in hoards(variables):
            since = self._since(hoard)
            if since < self.watch.step and hoard.count > 1:
                self._tell(hoard, "container", since, *addition_to(file, hoard.name))
        added = list(sums(variables, loss))
        for hoard in added:
            self._tell_sum(hoard, "sum", *addition_to(file, hoard.name))
        for hoard, place in self._chains(variables, {hoard.name for hoard in added}, file):
            self._tell_sum(hoard, "chain", place, hoard.name)

    def _chains(
        self, variables: list[tuple[str, Any]], told: set[str], file: str
    ) -> Iterator[tuple[Hoard, Place]]:
        """Tensors that are made of their own last value, and so keep the graphs of all steps behind them."""
        for name, value in variables:
            if is_a(value, torch.Tensor) and value.grad_fn is not None and name not in told:
                place = carried_over(file, name)
                count = steps_behind(value, self.numbers.starts) if place is not None else 0
                if place is not None and count > 1:
                    yield Hoard(name, count, value), place

    def _since(self, hoard: Hoard) -> int:
        """When its oldest tensor was first seen there: a list that is emptied starts anew."""
        known = self._oldest.get(hoard.name)
        if known is not None and known[0]() is hoard.oldest:
            return known[1]
        self._oldest[hoard.name] = (weakref.ref(hoard.oldest), self.watch.step)
        return self.watch.step

    def _tell_sum(self, hoard: Hoard, form: str, place: Place, added: str) -> None:
        self._tell(hoard, form, self._since_first.setdefault(hoard.name, self.watch.step), place, added)

    def _tell(self, hoard: Hoard, form: str, since: int, place: Place, added: str) -> None:
        scalar = hoard.oldest.numel() == 1
        step = self.watch.step
        self.watch.emit(KeptGraphs(hoard.name, form, hoard.count, since, scalar, place, added, step))
