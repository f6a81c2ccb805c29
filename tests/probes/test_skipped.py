"""Losses that a script goes past because they are not finite."""

from __future__ import annotations

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import SkippedLosses


def train(bad: set[int], steps: int = 20, calls: int = 1) -> list[SkippedLosses]:
    with watched() as seen:
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(steps):
            x = torch.randn(6, 4) * (float("nan") if step in bad else 1.0)
            loss = sum(net(x) for _ in range(calls)).pow(2).mean()  # type: ignore[union-attr]
            if torch.isnan(loss):
                continue
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return seen.of(SkippedLosses)


def test_losses_that_are_left_out_are_counted() -> None:
    told = train({4, 5, 9, 13})
    assert [fact.count for fact in told] == [1, 2, 4]
    assert told[0].name == "loss"
    assert told[0].place.code == "if torch.isnan(loss):"


def test_a_model_called_several_times_a_step_counts_each_loss_once() -> None:
    assert [fact.count for fact in train({4, 9}, calls=3)] == [1, 2]


def test_a_run_without_any_tells_nothing() -> None:
    assert train(set()) == [] and train(set(), calls=3) == []


def test_a_nan_that_went_through_backward_is_not_left_out() -> None:
    with watched() as seen:
        net, other = nn.Linear(4, 1), nn.Linear(4, 1)
        for _ in range(6):
            loss = (net(torch.randn(6, 4)) * float("nan")).mean()
            loss.backward()
            second = (other(torch.randn(6, 4)) + net(torch.randn(6, 4)) + net(torch.randn(6, 4))).mean()
            second.backward()
    assert seen.of(SkippedLosses) == []
