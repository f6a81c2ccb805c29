"""Where the loss is seen: sites and their names, several losses, accumulation, spikes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.schedule import DEEP
from torch_debugger.records import LossGraph, LossSite, Place, Rectifier
from torch_debugger.source.losses import loss_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("loss.backward()", "loss"),
        ("loss_g.backward(retain_graph=True)", "loss_g"),
        ("self.loss.backward()", "loss"),
        ("out.loss.backward()", "loss"),
        ("(loss / 4).backward()", "loss"),
        ("(total + penalty).backward()", "total"),
        ("scaler.scale(err).backward()", "err"),
        ("accelerator.backward(loss_a)", "loss_a"),
        ("self.manual_backward(err)", "err"),
        ("torch.autograd.backward(cost)", "cost"),
        ("loss_b.mean().backward()", "loss_b"),
        ("criterion(model(x), y).backward()", "loss"),
        ("F.cross_entropy(output, y).backward()", "loss"),
        ("losses[0].backward()", "loss"),
        ("(-objective).backward()", "loss"),
        ("fabric.backward(", "loss"),
        ("step()", "loss"),
        ("", "loss"),
    ],
)
def test_the_name_of_a_loss(code: str, name: str) -> None:
    assert loss_name(Place(code=code)) == name


def nets() -> tuple[nn.Linear, nn.Linear, torch.Tensor]:
    torch.manual_seed(0)
    return nn.Linear(4, 1), nn.Linear(4, 1), torch.randn(6, 4)


def test_one_loss_at_one_line() -> None:
    with watched() as seen:
        net, _, x = nets()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    [site] = seen.of(LossSite)
    assert (site.name, site.place.code) == ("loss", "loss.backward()")
    assert (site.place.file, site.loop.code) == (__file__, "for _ in range(4):")
    assert seen.scalars("loss") == dict(enumerate(losses, 1))


def test_two_losses_have_names_and_the_last_is_the_steps() -> None:
    with watched() as seen:
        netD, netG, x = nets()
        first = torch.optim.SGD(netD.parameters(), lr=0.1)
        second = torch.optim.SGD(netG.parameters(), lr=0.1)
        told = []
        for _ in range(3):
            first.zero_grad()
            loss_d = netD(x).pow(2).mean()
            loss_d.backward()
            first.step()
            second.zero_grad()
            loss_g = netG(x).exp().mean()
            loss_g.backward()
            second.step()
            told.append((loss_d.item(), loss_g.item()))
    assert [site.name for site in seen.of(LossSite)] == ["loss_d", "loss_g"]
    assert seen.scalars("loss/loss_d") == {step: pair[0] for step, pair in enumerate(told, 1)}
    assert seen.scalars("loss/loss_g") == {step: pair[1] for step, pair in enumerate(told, 1)}
    assert seen.scalars("loss") == seen.scalars("loss/loss_g")


def test_two_lines_with_one_name() -> None:
    with watched() as seen:
        net, _, x = nets()
        loss = net(x).mean()
        loss.backward()
        loss = net(x).sum()
        loss.backward()
    assert [site.name for site in seen.of(LossSite)] == ["loss", "loss_2"]


def test_accumulated_batches_give_their_mean() -> None:
    with watched() as seen:
        net, _, x = nets()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        for _ in range(2):
            optimizer.zero_grad()
            for scale in (1.0, 2.0, 6.0):
                loss = (net(x) * 0 + scale).mean()
                loss.backward()
            optimizer.step()
    assert seen.scalars("loss") == {1: 3.0, 2: 3.0}


def test_a_backward_of_many_numbers_is_no_loss() -> None:
    with watched() as seen:
        net, _, x = nets()
        output = net(x)
        output.backward(torch.ones_like(output))
    assert seen.of(LossSite) == []
    assert seen.scalars("loss") == {}


def test_a_loss_of_shape_one() -> None:
    with watched() as seen:
        net, _, x = nets()
        net(x).mean(dim=0).backward()
    assert list(seen.scalars("loss")) == [1]


def test_what_backward_raises_is_the_users() -> None:
    with watched() as seen:
        net, _, x = nets()
        loss = net(x).mean()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        with pytest.raises(RuntimeError, match="does not require grad"):
            torch.ones(1).backward()
    assert len(seen.of(LossSite)) == 3


def test_the_graph_is_told_a_few_times_and_when_it_changes() -> None:
    with watched() as seen:
        net, _, x = nets()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            optimizer.zero_grad()
            output = net(x)
            loss = (output.exp() if step >= 8 else output).pow(2).mean()
            loss.backward()
            optimizer.step()
    graphs = seen.of(LossGraph)
    assert [graph.step for graph in graphs] == [1, 2, 3, 9]
    assert graphs[0].nodes[0].op == "Mean"
    assert {each.name for each in graphs[0].locals} >= {"x", "output", "loss"}
    assert graphs[0].loss == pytest.approx(seen.scalars("loss")[1])


def test_rectifiers_are_told_of_deep_steps() -> None:
    with watched() as seen:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        net(torch.randn(6, 4)).mean().backward()
    [rectifier] = seen.of(Rectifier)
    assert (rectifier.source, rectifier.units, rectifier.batch) == ("net.0", 8, 6)


def test_saved_tensors_of_checkpointed_blocks_are_left_alone() -> None:
    """Reading one would run the block again, with side effects of its own."""
    from torch.utils.checkpoint import checkpoint

    runs = []

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            runs.append(1)
            return self.fc(x).relu()

    with watched() as seen:
        block, x = Block(), torch.randn(3, 4)
        checkpoint(block, x, use_reentrant=False).sum().backward()
    assert len(runs) == 2
    assert seen.of(Rectifier) == []


@pytest.mark.parametrize("spike", [100.0, math.inf])
def test_a_spike_is_looked_at_closely(spike: float) -> None:
    with watched(deep=False, budget=1.0) as seen:
        net, _, x = nets()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        depths = []
        for step in range(60):
            depths.append(seen.plumbing.watch.depth)
            optimizer.zero_grad()
            loss = (net(x) * 0).mean() + (spike if step == 41 else 1.0)
            loss.backward()
            optimizer.step()
    assert depths[42:44] == [DEEP, DEEP]
    assert depths[38:42].count(DEEP) <= 1


def test_the_users_backward_keeps_its_face() -> None:
    plain = torch.autograd.backward
    with watched():
        assert torch.autograd.backward is not plain
        assert torch.autograd.backward.__name__ == "backward"
        assert torch.autograd.backward.__doc__ == plain.__doc__
    assert torch.autograd.backward is plain
