"""The strongest examples of a loader: it is read once, in order, and only these are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import copied, exchanged, first_tensor
from torch_debugger.errors import UsageError
from torch_debugger.pictures.embedding.batches import Batch, batches
from torch_debugger.pictures.maximizing.goals import Goal, checked_goals
from torch_debugger.pictures.runs_of_models import Layer
from torch_debugger.pictures.units.reached_layers import ReachedLayer, reach


@dataclass(frozen=True)
class Exciting:
    """One example, as a batch of one."""

    number: int  # in the order of the loader
    strength: float
    place: tuple[int, ...]  # where in the unit's map it is strongest; empty where there is only one value
    map: torch.Tensor  # [positions ...]
    inputs: Any
    label: Any


class Ranking:
    """Reads batches and keeps as many of the strongest as asked for; of equals the first."""

    def __init__(self, model: nn.Module, layer: Layer, goal: Goal, count: int) -> None:
        self._model, self._layer, self.goal, self._count = model, layer, goal, count
        self.reached: ReachedLayer | None = None
        self.strongest: list[Exciting] = []
        self.read = 0

    def see(self, batch: Batch) -> None:
        inputs = _on_device_of(self._model, batch.inputs)
        if self.reached is None:
            self.reached = self._reach(inputs, batch.examples)
        maps = self._maps(self.reached.cut(copied(inputs)), batch)
        strengths = maps.reshape(batch.examples, -1).amax(1)
        for row in strengths.argsort(descending=True, stable=True)[: self._count].tolist():
            self._offer(row, float(strengths[row]), maps[row], inputs, batch)
        self.read += batch.examples

    def _reach(self, inputs: Any, examples: int) -> ReachedLayer:
        reached = reach(self._model, self._layer, _row(inputs, 0, examples), copied(inputs))
        (self.goal,) = checked_goals([self.goal], reached.cut.path, reached.output, reached.layout)
        return reached

    def _maps(self, output: torch.Tensor, batch: Batch) -> torch.Tensor:
        """[N, positions ...]; a unit with a place has one value, and padding none that counts."""
        assert self.reached is not None
        layout, index = self.reached.layout, self.goal.index
        if len(index) > 1:
            return torch.stack([one[index] for one in layout.by_example(output, batch.examples)]).float().cpu()
        maps = layout.by_channel(output, batch.examples)[:, index[0]].float().cpu()
        if batch.attended is not None and batch.attended.shape == maps.shape:
            maps = maps.masked_fill(batch.attended.cpu() == 0, float("-inf"))
        return maps

    def _offer(self, row: int, strength: float, map_: torch.Tensor, inputs: Any, batch: Batch) -> None:
        if len(self.strongest) == self._count and strength <= self.strongest[-1].strength:
            return
        place = torch.unravel_index(map_.argmax(), map_.shape) if map_.dim() else ()
        label = None if batch.labels is None else batch.labels[row]
        one = _row(inputs, row, batch.examples)
        where = tuple(int(each) for each in place)
        self.strongest.append(Exciting(self.read + row, strength, where, map_.clone(), one, label))
        self.strongest.sort(key=lambda each: (-each.strength, each.number))
        del self.strongest[self._count :]


def ranked(model: nn.Module, loader: Any, layer: Layer, goal: Goal, count: int) -> Ranking:
    ranking = Ranking(model, layer, goal, count)
    for batch in _some(batches(model, loader)):
        ranking.see(batch)
    return ranking


def _some(found: Iterator[Batch]) -> Iterator[Batch]:
    first = next(found, None)
    if first is None:
        raise UsageError("there was no batch: the loader is empty, or it was an iterator that is used up.")
    yield first
    yield from found


def _row(inputs: Any, row: int, examples: int) -> Any:
    """One example of a batch, on its own memory; what all examples share stays whole."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        own = tensor[row : row + 1] if tensor.dim() and len(tensor) == examples else tensor
        return own.detach().clone()

    return exchanged(inputs, change)


def _on_device_of(model: nn.Module, inputs: Any) -> Any:
    """As the loop of a training moves what its loader gives."""
    weight = next(model.parameters(), first_tensor(inputs))
    return inputs if weight is None else exchanged(inputs, lambda tensor: tensor.to(weight.device))
