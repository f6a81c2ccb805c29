"""A small training on the batches of a loader, watched."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.probes.watching import Seen, watched


def train(loader: Any, passes: int = 1, **settings: Any) -> Seen:
    with watched(deep=False, **settings) as seen:
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(passes):
            for x in loader:
                optimizer.zero_grad()
                net(x).mean().backward()
                optimizer.step()
    return seen
