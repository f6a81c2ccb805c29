"""Rows of a weight that are equal, and their gradients: by value, on real optimizers."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger.probes.model.weights import compare_rows


def weights(*layers: nn.Module) -> list[torch.Tensor]:
    torch.manual_seed(0)
    net = nn.Sequential(*layers)
    net(torch.randn(16, 5)).square().sum().backward()
    return [parameter for parameter in net.parameters() if parameter.dim() == 2]


def constant(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.constant_(layer.weight, 0.1)
    nn.init.zeros_(layer.bias)
    return layer


def test_constant_layers_have_equal_rows_and_equal_gradients() -> None:
    for weight in weights(constant(5, 8), nn.Tanh(), constant(8, 4)):
        apart, gradient_apart, size = compare_rows(weight).tolist()
        assert apart == 0.0
        assert gradient_apart < 1e-5
        assert size > 0.0


def test_a_constant_layer_before_a_random_one_gets_different_gradients() -> None:
    first, last = weights(constant(5, 8), nn.Tanh(), nn.Linear(8, 4))
    apart, gradient_apart, _ = compare_rows(first).tolist()
    assert apart == 0.0
    assert gradient_apart > 1e-2
    assert compare_rows(last)[0] > 1e-2
