"""Nothing of the caller's changes: tensors, modules, buffers, gradients, random numbers."""

from __future__ import annotations

import copy
import random

import numpy
import pytest
import torch
from torch import nn

from torch_debugger import gradcheck, gradgradcheck


@pytest.fixture
def module() -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2))
    net[1].eval()
    net[4].bias.requires_grad_(False)
    return net


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_a_module_is_left_as_it_was(module: nn.Module, check: object) -> None:
    x = torch.randn(2, 1, 6, 6)
    module(x).sum().backward()
    before = copy.deepcopy(module)
    gradients = [None if p.grad is None else p.grad.clone() for p in module.parameters()]
    versions = [tensor._version for tensor in (*module.parameters(), *module.buffers(), x)]
    result = check(module, x)
    assert result, result
    assert "4.bias" not in result.inputs
    for (name, mine), theirs in zip(module.state_dict().items(), before.state_dict().values(), strict=True):
        assert torch.equal(mine, theirs), name
    for parameter, gradient in zip(module.parameters(), gradients, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        assert gradient is None or torch.equal(parameter.grad, gradient)
    assert versions == [tensor._version for tensor in (*module.parameters(), *module.buffers(), x)]
    assert [part.training for part in module.modules()] == [part.training for part in before.modules()]
    assert not x.requires_grad


def test_random_numbers_go_on_as_if_nothing_had_been(module: nn.Module) -> None:
    def drawn() -> list[float]:
        return [torch.rand(()).item(), numpy.random.rand(), random.random()]

    def seed() -> None:
        torch.manual_seed(1)
        numpy.random.seed(1)
        random.seed(1)

    seed()
    expected = drawn()
    seed()
    gradcheck(lambda x: x * torch.rand_like(x) * numpy.random.rand(), torch.ones(3))
    gradcheck(nn.Dropout(0.5), torch.ones(3))
    assert drawn() == expected


def test_inputs_of_functions_that_write_into_them() -> None:
    x = torch.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    assert gradcheck(lambda t: t.mul_(2).relu_(), x)
    assert x.tolist() == [-1.0, 2.0, 3.0]
    assert x.grad is None


def test_shared_weights_are_one_parameter() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    result = gradcheck(nn.Sequential(first, nn.Tanh(), second), torch.randn(2, 3))
    assert result
    assert result.inputs == ("input", "0.weight", "0.bias", "2.bias")
