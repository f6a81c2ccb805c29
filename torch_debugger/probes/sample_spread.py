"""How far samples differ in what a model makes of them: read from the variables around a backward()."""

from __future__ import annotations

import functools
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.watch import Watch
from torch_debugger.records import SampleSpread
from torch_debugger.stats.unseen import no_grad

_SAMPLES, _FEATURES, _TENSORS = 8, 2, 8  # fewest samples and features, most tensors


class SampleSpreads:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        self.measure(self.variables(frame))

    def variables(self, frame: FrameType | None) -> dict[str, torch.Tensor]:
        return embeddings(locals_of(frame) if frame is not None else {})

    @no_grad()
    def measure(self, found: dict[str, torch.Tensor]) -> None:
        if len(found) < 2:  # two views of the same samples, or there is nothing to compare
            return
        names = tuple(found)[:_TENSORS]
        spreads = [_spread(found[name]) for name in names]
        values = torch.stack([spread.to(spreads[0].device) for spread in spreads])
        self.watch.transfer.send(values.flatten(), functools.partial(self._tell, names, self.watch.step))

    def _tell(self, names: tuple[str, ...], step: int, found: Any) -> None:
        relative, absolute = found.reshape(-1, 2).T.tolist()
        self.watch.emit(SampleSpread(names, tuple(relative), tuple(absolute), step))


def embeddings(known: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in known.items() if _is_made_of_samples(value)}


def _is_made_of_samples(value: Any) -> bool:
    return (
        is_a(value, torch.Tensor)
        and value.grad_fn is not None
        and value.dim() == 2
        and value.is_floating_point()
        and value.layout is torch.strided
        and value.shape[0] >= _SAMPLES
        and value.shape[1] >= _FEATURES
    )


def _spread(tensor: torch.Tensor) -> torch.Tensor:
    """[deviation between the directions of samples, between the samples themselves]"""
    data = tensor.detach().float()
    directions = torch.nn.functional.normalize(data, dim=1)
    return torch.stack([(each - each.mean(0)).square().mean().sqrt() for each in (directions, data)])
