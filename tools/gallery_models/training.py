"""The one loop that trains them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import nn

Model = TypeVar("Model", bound=nn.Module)
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Pair = tuple[torch.Tensor, torch.Tensor]
_BATCH = 64


def trained(
    make: Callable[[], Model],
    loss_of: Loss,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    steps: int,
    rate: float = 4e-3,
) -> Model:
    """From the same weights, through the same batches each time; the process's random numbers stay."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = make()
        for _ in _losses(model, loss_of, (inputs, targets), steps, rate):
            pass
    return model.eval()


def recorded(
    make: Callable[[], nn.Module], loss_of: Loss, seen: Pair, unseen: Pair, steps: int
) -> tuple[list[float], list[float]]:
    """The loss at every step, of what is trained on and of what is not."""
    kept: tuple[list[float], list[float]] = ([], [])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = make()
        for loss in _losses(model, loss_of, seen, steps, rate=4e-3):
            kept[0].append(loss)
            with torch.no_grad():
                kept[1].append(float(loss_of(model.eval()(unseen[0]), unseen[1])))
            model.train()
    return kept


def _losses(model: nn.Module, loss_of: Loss, pair: Pair, steps: int, rate: float) -> Iterator[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.05)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, steps))
    for _ in range(steps):
        rows = torch.randint(len(pair[0]), (_BATCH,))
        loss = loss_of(model(pair[0][rows]), pair[1][rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        yield loss.item()
