"""Numbers that arrive steps later, as from an accelerator: the step is run again from what it left behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.probes.async_steps import AsyncSteps as Lagging
from torch_debugger.probes.schedule import DEEP, NONE, Governor
from torch_debugger.records import NonFinite
from torch_debugger.stats.transfer import Deliver, Transfer
from torch_debugger.trials.nan_in_step import can_fork

LAG = 2  # steps


class LateTransfer(Transfer):
    """The CPU as if it were a device whose numbers come later."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: deque[list[tuple[Any, Deliver]]] = deque([[] for _ in range(LAG + 1)])

    def lags(self, tensor: torch.Tensor) -> bool:
        return True

    def send(self, values: torch.Tensor, deliver: Deliver) -> None:
        self._steps[-1].append((values.detach().to(torch.float32).numpy().copy(), deliver))

    def poll(self) -> None:
        arrived = self._steps.popleft()
        self._steps.append([])
        for values, deliver in arrived:
            deliver(values)

    def drain(self) -> None:
        for _ in range(LAG + 1):
            self.poll()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.drop, self.fc2 = nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.drop(torch.tanh(self.fc1(x))))


Loss = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]


def train(
    monkeypatch: pytest.MonkeyPatch, loss_of: Loss, *, bad: int = 7, steps: int = 14
) -> tuple[Seen, list[torch.Tensor]]:
    """The last weights and random numbers too."""
    monkeypatch.setattr("torch_debugger.trials.nan_in_step.can_fork", lambda models: False)
    with watched(deep=False) as seen:
        seen.plumbing.watch.transfer = LateTransfer()
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        history: list[float] = []
        for step in range(1, steps + 1):
            x = torch.randn(6, 4)
            loss = loss_of(net(x), x, step - bad)
            history.append(step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert history == list(range(1, steps + 1)), "a step that ran again left a trace"
    return seen, [*(p.detach().clone() for p in net.parameters()), torch.get_rng_state()]


def mean_log(output: torch.Tensor, x: torch.Tensor, wrong: int) -> torch.Tensor:
    inside = output.abs() * (wrong != 0)
    return torch.log(inside + 0.0).mean()


def root(output: torch.Tensor, x: torch.Tensor, wrong: int) -> torch.Tensor:
    return torch.sqrt((output * (wrong != 0)).pow(2).sum())


def healthy(output: torch.Tensor, x: torch.Tensor, wrong: int) -> torch.Tensor:
    return (output - x.sum(1, keepdim=True)).pow(2).mean()


def test_the_op_between_model_and_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = train(monkeypatch, mean_log)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.what, found.how) == (7, "loss", "step")
    assert (found.origin.op, found.origin.place.code) == ("log", "return torch.log(inside + 0.0).mean()")


def test_the_op_whose_gradient_is_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = train(monkeypatch, root)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.origin.phase, found.origin.op) == ("backward", "sqrt")
    assert found.how == "step"


@pytest.mark.parametrize(("loss_of", "op"), [(mean_log, "log"), (root, "sqrt")])
def test_already_in_the_first_step(monkeypatch: pytest.MonkeyPatch, loss_of: Loss, op: str) -> None:
    seen, _ = train(monkeypatch, loss_of, bad=1)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.origin.op, found.how) == (1, op, "step")


@pytest.mark.parametrize(("loss_of", "op"), [(mean_log, "log"), (root, "sqrt")])
def test_in_a_step_without_a_closer_look(monkeypatch: pytest.MonkeyPatch, loss_of: Loss, op: str) -> None:
    """One gradient is looked at in any case, and the weights are those of that step."""
    monkeypatch.setattr(Governor, "choose", lambda governor, step: DEEP if step < 3 else NONE)
    seen, _ = train(monkeypatch, loss_of)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.origin.op, found.how) == (7, op, "step")


def test_a_gradient_that_nobody_saw_shows_in_the_next_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Governor, "choose", lambda governor, step: DEEP if step < 3 else NONE)
    monkeypatch.setattr(Lagging, "see_gradient", lambda *_: None)
    seen, _ = train(monkeypatch, root)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.origin.phase, found.origin.op) == (8, "backward", "sqrt")


class ReadAtOnce(LateTransfer):
    """A script that asks for its loss in every step: the numbers are there when the step ends."""

    def poll(self) -> None:
        arrived, self._steps[-1] = self._steps[-1], []
        for values, deliver in arrived:
            deliver(values)


@pytest.mark.parametrize(("loss_of", "op"), [(mean_log, "log"), (root, "sqrt")])
def test_news_at_the_end_of_the_same_step_come_after_its_update(
    monkeypatch: pytest.MonkeyPatch, loss_of: Loss, op: str
) -> None:
    monkeypatch.setattr("tests.probes.test_lagging.LateTransfer", ReadAtOnce)
    seen, _ = train(monkeypatch, loss_of)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.origin.op, found.how) == (7, op, "step")


def test_an_update_that_makes_weights_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    adam, updates = torch.optim.Adam, []

    def wild(*arguments: Any, **keywords: Any) -> torch.optim.Optimizer:
        optimizer = adam(*arguments, **keywords)
        optimizer.register_step_post_hook(spoil)
        return optimizer

    @torch.no_grad()
    def spoil(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        updates.append(optimizer)
        if len(updates) == 5:
            optimizer.param_groups[0]["params"][0].fill_(float("nan"))

    monkeypatch.setattr(torch.optim, "Adam", wild)
    seen, _ = train(monkeypatch, healthy)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.what, found.origin.phase) == (6, "loss", "weights")
    assert (found.parameters, found.optimizer) == (("net.fc1.weight",), "optimizer")


def test_weights_that_were_nan_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn.Linear, "reset_parameters", lambda linear: linear.weight.data.fill_(float("nan")))
    seen, _ = train(monkeypatch, healthy)
    [found] = seen.of(NonFinite)
    assert found.origin is not None
    assert (found.step, found.origin.phase, found.optimizer) == (1, "weights", "")


def test_it_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not when a step was run again: the weights of the run are those of a run without us."""
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(1, 15):
        x = torch.randn(6, 4)
        loss = mean_log(net(x), x, step - 7)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    plain = [*(p.detach() for p in net.parameters()), torch.get_rng_state()]
    _, watched_ones = train(monkeypatch, mean_log)
    for one, other in zip(plain, watched_ones, strict=True):
        assert torch.equal(torch.nan_to_num(one, 1.5), torch.nan_to_num(other, 1.5))


def test_a_healthy_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = train(monkeypatch, healthy)
    assert seen.of(NonFinite) == []


def test_nothing_is_kept_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = train(monkeypatch, healthy)
    lagging = seen.plumbing.lagging
    assert (len(lagging._inputs), lagging._moments, lagging.weights._copies) == (0, [], [])


def test_where_a_fork_can_be_it_is_asked_for() -> None:
    assert can_fork([]) is True
