"""Weights that share nothing are told before the first update; shared ones and twins are not."""

from __future__ import annotations

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import UntiedWeights


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.embed(tokens))
        return out


class Copied(Model):
    def __init__(self) -> None:
        super().__init__()
        self.head.weight.data.copy_(self.embed.weight)


class Undone(Model):
    def __init__(self) -> None:
        super().__init__()
        self.head.weight = self.embed.weight
        self.embed = nn.Embedding(6, 4)


class Shared(Model):
    def __init__(self) -> None:
        super().__init__()
        self.head.weight = self.embed.weight


class ByMethod(Model):
    def __init__(self) -> None:
        super().__init__()
        self.tie()

    def tie(self) -> None:
        self.head.weight = self.embed.weight


class Asked(Model):
    def __init__(self, tied: bool = False) -> None:
        super().__init__()
        if tied:
            self.head.weight = self.embed.weight


def told(net: nn.Module) -> list[str]:
    with watched() as seen:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.arange(6)).square().mean().backward()
            optimizer.step()
    return [f"{fact.how}: {fact.second} {fact.first}" for fact in seen.of(UntiedWeights)]


def test_a_copy_and_a_tie_undone_are_told_once() -> None:
    assert told(Copied()) == ["copied: net.head.weight net.embed.weight"]
    assert told(Undone()) == ["undone: net.head.weight net.embed.weight"]


def test_shared_frozen_and_never_tied_weights_are_not() -> None:
    assert told(Shared()) == []
    assert told(Asked()) == []


def test_a_layer_that_is_replaced_between_two_trainings() -> None:
    net = ByMethod()
    with watched() as seen:
        for stage in range(2):
            if stage:
                net.embed = nn.Embedding(6, 4)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(torch.arange(6)).square().mean().backward()
            optimizer.step()
    assert [(fact.how, fact.place.code) for fact in seen.of(UntiedWeights)] == [
        ("undone", "self.head.weight = self.embed.weight")
    ]
