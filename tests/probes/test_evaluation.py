"""Validation losses: loss modules called where no gradient is wanted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.probes.watching import Seen, watched


def one_step(net: nn.Module, optimizer: torch.optim.Optimizer, criterion: nn.Module) -> None:
    optimizer.zero_grad()
    criterion(net(torch.randn(6, 4)), torch.zeros(6, dtype=torch.long)).backward()
    optimizer.step()


def epochs(count: int = 2, batches: int = 3) -> tuple[Seen, list[float]]:
    """Each epoch: two steps, then a validation; what the script itself would report of it."""
    means = []
    with watched() as seen:
        torch.manual_seed(0)
        net, criterion = nn.Linear(4, 3), nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(count):
            for _ in range(2):
                one_step(net, optimizer, criterion)
            net.eval()
            with torch.no_grad():
                losses = [criterion(net(torch.randn(6, 4)), torch.ones(6, dtype=torch.long)) for _ in range(batches)]
            means.append(float(sum(losses)) / batches)
            net.train()
    return seen, means


def test_the_mean_of_each_validation() -> None:
    seen, means = epochs()
    told = seen.scalars("eval/CrossEntropyLoss")
    # A validation is told with the step that follows it, the last one after the last step.
    assert list(told) == [3, 5]
    assert list(told.values()) == pytest.approx(means, rel=1e-6)


def test_training_losses_are_no_validation() -> None:
    with watched() as seen:
        net = nn.Linear(4, 3)
        one_step(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss())
    assert seen.scalars("eval/CrossEntropyLoss") == {}
    assert list(seen.scalars("loss")) == [1]


def test_each_loss_by_its_name() -> None:
    with watched() as seen, torch.no_grad():
        nn.MSELoss()(torch.ones(3), torch.zeros(3))
        nn.L1Loss()(torch.ones(3) * 2, torch.zeros(3))
    assert seen.scalars("eval/MSELoss") == {1: 1.0}
    assert seen.scalars("eval/L1Loss") == {1: 2.0}


def test_a_loss_of_the_users_own_class() -> None:
    class Mine(nn.MSELoss):
        pass

    with watched() as seen, torch.no_grad():
        Mine()(torch.ones(3), torch.zeros(3))
    assert seen.scalars("eval/Mine") == {1: 1.0}


def test_losses_of_many_numbers_are_left_out() -> None:
    with watched() as seen, torch.no_grad():
        nn.MSELoss(reduction="none")(torch.ones(3), torch.zeros(3))
    assert seen.scalars("eval/MSELoss") == {}


def test_inference_mode() -> None:
    with watched() as seen, torch.inference_mode():
        for value in (1.0, 3.0):
            nn.L1Loss()(torch.full((3,), value), torch.zeros(3))
    assert seen.scalars("eval/L1Loss") == {1: 2.0}


def test_the_loss_is_the_same_object_and_value() -> None:
    criterion, x, y = nn.MSELoss(), torch.randn(5), torch.randn(5)
    with torch.no_grad():
        plain = criterion(x, y)
        with watched():
            seen = criterion(x, y)
    assert torch.equal(plain, seen)


def test_our_own_replay_is_no_validation() -> None:
    """A model that computes its loss in forward, run again without gradients to find a NaN."""

    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.criterion = nn.Linear(4, 1), nn.MSELoss()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.criterion(torch.log(self.fc(x) * 0), x[:, :1])

    with watched() as seen:
        net = WithLoss()
        net(torch.randn(3, 4)).backward()
    assert seen.scalars("eval/MSELoss") == {}
