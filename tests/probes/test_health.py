"""What the graph of a loss tells of its layers: real graphs, numbers computed the plain way beside them."""

from __future__ import annotations

import sys
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from torch_debugger.probes.loss_graph import LayerHealth, nodes_behind
from torch_debugger.probes.model.value_ranges import SampleSpreads
from torch_debugger.probes.model.variational import Latents
from torch_debugger.records import BatchNormLook, LatentLook, Squasher


class Desk:
    """A watch that keeps what it is told."""

    step = 7

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.transfer = self

    def send(self, values: torch.Tensor, deliver: Any) -> None:
        deliver(values.numpy())

    def emit(self, record: Any) -> None:
        self.told.append(record)


def looked(kind: Any, loss: torch.Tensor, *models: nn.Module) -> list[Any]:
    desk = Desk()
    names = {id(p): f"net.{name}" for model in models for name, p in model.named_parameters()}
    with torch.no_grad():
        kind(desk).look(nodes_behind(loss.grad_fn), names)
    return desk.told


def test_a_hidden_tanh_is_counted_and_the_output_is_not() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 3), nn.Sigmoid())
    nn.init.normal_(net[0].weight, std=50.0)  # type: ignore[arg-type]
    x = torch.randn(16, 4)
    [look] = looked(LayerHealth, net(x).sum(), net)
    share = float((torch.tanh(net[0](x)).abs() >= 0.98).float().mean())
    assert look == Squasher("net.0", "tanh", (16, 8), look.saturated, 7)
    assert look.saturated == pytest.approx(share)


def test_gates_of_recurrent_layers_are_no_hidden_activations() -> None:
    gru = nn.GRU(3, 5)
    assert looked(LayerHealth, gru(torch.randn(6, 2, 3))[0].sum(), gru) == []


def test_the_kept_statistics_of_batch_norm_beside_the_batch() -> None:
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6, momentum=0.0))
    x = torch.randn(64, 4)
    [look] = looked(LayerHealth, net(x).sum(), net)
    hidden = net[0](x).detach()
    apart = (hidden.mean(0).abs() / hidden.std(0, correction=0)).mean().item()
    assert isinstance(look, BatchNormLook)
    assert (look.name, look.shape) == ("net.1", (64, 6))
    assert look.gap == pytest.approx(apart, rel=1e-3)
    assert looked(LayerHealth, net.eval()(x).sum(), net) == []


def test_a_bias_that_only_a_batch_norm_sees() -> None:
    conv, norm, x = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), torch.randn(8, 2, 5, 5)
    net = nn.ModuleDict({"conv": conv, "norm": norm})
    once, twice = norm(conv(x)).sum(), (norm(conv(x)) + norm(conv(2 * x))).sum()
    assert {look.biased for loss in (once, twice) for look in looked(LayerHealth, loss, net)} == {"net.conv"}
    made = conv(x)
    elsewhere = (norm(made) * torch.sigmoid(made)).sum()
    shared, behind = norm(conv(x)).sum() + conv(x).sum(), norm(torch.relu(conv(x))).sum()
    for loss in (elsewhere, shared, behind):
        assert [look.biased for look in looked(LayerHealth, loss, net)] == [""]


def test_the_divergence_of_latent_variables() -> None:
    torch.manual_seed(0)
    mean, logvar = nn.Linear(5, 3), nn.Linear(5, 3)
    x = torch.randn(32, 5)
    mu, log = mean(x), logvar(x)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * log)
    kl = -0.5 * torch.sum(1 + log - mu.pow(2) - log.exp()) / 32
    [look] = looked(Latents, z.square().mean() + kl, mean, logvar)
    assert look == LatentLook("net", 3, look.divergence, look.between, 7)
    assert look.divergence == pytest.approx(kl.item(), rel=1e-4)


def test_a_deviation_of_another_form_is_read_where_it_is_squared() -> None:
    torch.manual_seed(0)
    net, x = nn.Linear(5, 6), torch.randn(32, 5)
    mu, raw = net(x).chunk(2, dim=1)
    posterior = Normal(mu, nn.functional.softplus(raw) + 1e-4)
    kl = kl_divergence(posterior, Normal(torch.zeros(3), torch.ones(3))).sum(1).mean()
    [look] = looked(Latents, posterior.rsample().square().mean() + kl, net)
    assert (look.size, look.divergence) == (3, pytest.approx(kl.item(), rel=1e-4))
    hidden = net(x)
    kept = hidden + nn.functional.dropout(hidden)  # of the same form, and no latent variable
    assert looked(Latents, kept.mean(), net) == []


def variables(**values: torch.Tensor) -> FrameType:
    """A frame that has these."""
    frames: list[FrameType] = []
    exec("keep(getframe())", {"keep": frames.append, "getframe": sys._getframe, **values})
    return frames[0]


def test_tensors_of_samples_among_the_variables() -> None:
    weight = torch.ones(4, requires_grad=True)
    frame = variables(z1=torch.randn(16, 4) * weight, z2=2 * torch.ones(16, 4) * weight, x=torch.randn(16, 4))
    desk = Desk()
    SampleSpreads(desk, SimpleNamespace(on_look=[])).look(weight.sum(), frame)  # type: ignore[arg-type]
    [look] = desk.told
    assert look.names == ("z1", "z2")
    assert look.between[0] > 0.5
    assert look.between[1] == look.directions[1] == pytest.approx(0.0, abs=1e-6)
