"""Gradients of gradients: right ones pass, wrong ones and missing ones are told."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from tests.trials.gradcheck.battery import FUNCTIONS
from tests.trials.gradcheck.wrong_backwards import drawn, function
from torch_debugger import gradcheck, gradgradcheck
from torch_debugger.trials.gradcheck import WrongGradientError

SMOOTH = [
    "sin",
    "exp",
    "sigmoid",
    "pow",
    "div",
    "std",
    "logsumexp",
    "mm",
    "conv2d",
    "layer_norm",
    "kl_div",
    "inv",
]


@pytest.mark.parametrize("name", SMOOTH)
def test_as_torch_finds_it(name: str) -> None:
    target, inputs = FUNCTIONS[name]
    assert gradgradcheck(target, inputs)
    assert torch.autograd.gradgradcheck(target, inputs)


def test_a_module() -> None:
    result = gradgradcheck(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(2, 3))
    assert result
    assert result.inputs[-1] == "grad_output"
    assert "the second gradients are right" in str(result)


def test_a_first_gradient_that_hides_its_input() -> None:
    hiding = function(torch.square, lambda g, x: 2 * g * x.detach())
    assert gradcheck(hiding, drawn(4))
    result = gradgradcheck(hiding, drawn(4))
    assert not result
    assert [mismatch.input for mismatch in result.mismatches] == ["input 0"]
    assert result.mismatches[0].pattern.name == "detached"
    assert not torch.autograd.gradgradcheck(hiding, drawn(4), raise_exception=False)


def test_a_backward_that_is_differentiable_once() -> None:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_output: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad_output * x.cos()

    assert gradcheck(Once.apply, drawn(4))
    result = gradgradcheck(Once.apply, drawn(4))
    assert [problem.name for problem in result.problems] == ["not-differentiable-twice"]
    with pytest.raises(WrongGradientError):
        gradgradcheck(Once.apply, drawn(4), raise_exception=True)


def test_an_operation_without_a_second_derivative() -> None:
    result = gradgradcheck(torch.cdist, (drawn(3, 4), drawn(2, 4)))
    assert "torch has no second derivative of `_cdist_backward`" in str(result)


def test_no_graph_at_all() -> None:
    result = gradgradcheck(lambda x: x.detach() * 2, drawn(3))
    assert [problem.name for problem in result.problems] == ["no-graph"]
