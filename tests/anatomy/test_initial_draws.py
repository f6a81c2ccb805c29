"""Weights that are still as they were drawn are told from trained ones."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger.model.layers import Draw, initial_draws


def fits(layer: nn.Module) -> Draw | None:
    weight = layer.weight
    assert isinstance(weight, nn.Parameter)
    values = weight.detach()
    spread = float(values.square().mean().sqrt())
    kurtosis = float(values.pow(4).mean()) / spread**4
    numbers = (values.numel(), float(values.mean()), spread, kurtosis, float(values.abs().max()))
    return next((draw for draw in initial_draws(layer, weight) if draw.fits(*numbers)), None)


def drawn(initialize: object, layer: nn.Module) -> nn.Module:
    initialize(layer.weight)  # type: ignore[operator]
    return layer


def test_every_common_initialization_is_known() -> None:
    torch.manual_seed(0)
    layers = {
        "linear": nn.Linear(96, 64),
        "conv": nn.Conv2d(8, 16, 3),
        "embedding": nn.Embedding(100, 32),
        "kaiming normal": drawn(nn.init.kaiming_normal_, nn.Linear(96, 64)),
        "kaiming uniform": drawn(nn.init.kaiming_uniform_, nn.Conv1d(8, 32, 5)),
        "xavier": drawn(nn.init.xavier_uniform_, nn.Linear(64, 200)),
        "xavier normal": drawn(nn.init.xavier_normal_, nn.Linear(64, 200)),
        "transformer": drawn(lambda w: nn.init.normal_(w, std=0.02), nn.Linear(128, 128)),
    }
    assert [name for name, layer in layers.items() if fits(layer) is None] == []


def test_a_few_steps_of_training_are_enough_to_be_none() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(20):
        x = torch.randn(64, 32)
        loss = (model(x) - x[:, :8]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert fits(model[0]) is None
    assert fits(model[2]) is None


def test_heavy_tails_are_not_a_normal_distribution() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(128, 128)
    with torch.no_grad():
        layer.weight.copy_(torch.distributions.StudentT(4.0).sample((128, 128)) * 0.02 / 2**0.5)
    assert fits(layer) is None
