"""Parameters made in forward are told by their identity; those made once are not."""

from __future__ import annotations

import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.records import FreshParameter


class Anew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = nn.Linear(6, 2)(self.first(x))
        return made


class Once(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.second: nn.Module | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.second is None:
            self.second = nn.Linear(6, 2)
        made: torch.Tensor = self.second(self.first(x))
        return made


def train(net: nn.Module) -> Seen:
    with watched() as seen:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.ones(3, 4)).square().mean().backward()
            optimizer.step()
    return seen


def test_a_layer_of_every_pass_is_told_with_its_line() -> None:
    told = train(Anew()).of(FreshParameter)
    assert [each.looks for each in told] == [3, 4, 5]
    assert (told[0].owner, told[0].maker, told[0].elements) == ("Anew", "nn.Linear", 14)
    assert told[0].place.code == "made: torch.Tensor = nn.Linear(6, 2)(self.first(x))"


def test_a_layer_that_is_kept_is_not() -> None:
    assert not train(Once()).of(FreshParameter)
