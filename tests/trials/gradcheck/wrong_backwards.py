"""Custom Functions whose backward has one mistake each, and the name of the pattern it should be told by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Backward = Callable[..., Any]


def function(forward: Callable[..., torch.Tensor], backward: Backward) -> Any:
    """An autograd Function of these two; `backward` gets grad_output and then forward's inputs."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
            return backward(grad_output, *ctx.saved_tensors)

    return Made.apply


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def matrices(*sizes: int) -> tuple[torch.Tensor, torch.Tensor]:
    return drawn(sizes[0], sizes[1], seed=1), drawn(sizes[1], sizes[2], seed=2)


def spoiled_at(gradient: torch.Tensor, place: int) -> torch.Tensor:
    spoiled = gradient.clone()
    spoiled.view(-1)[place] *= 1.5
    return spoiled


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x)


# name -> (pattern, function, inputs)
WRONG: dict[str, tuple[str, Any, tuple[torch.Tensor, ...]]] = {
    "square without its 2": ("missing-factor", function(torch.square, lambda g, x: g * x), (drawn(4, 5),)),
    "cos with a plus": ("wrong-sign", function(torch.cos, lambda g, x: g * torch.sin(x)), (drawn(4, 5),)),
    "1 % too much": ("missing-factor", function(torch.exp, lambda g, x: 1.01 * g * x.exp()), (drawn(4, 5),)),
    "mean as a sum": (
        "missing-factor", function(lambda x: x.mean(), lambda g, x: g * torch.ones_like(x)), (drawn(4, 5),)
    ),
    "product of matrices, first one turned": (
        "transposed", function(torch.mm, lambda g, a, b: ((g @ b.t()).t(), a.t() @ g)), matrices(4, 4, 3)
    ),
    "product of matrices, second one without turning": (
        "unknown", function(torch.mm, lambda g, a, b: (g @ b.t(), a @ g)), matrices(4, 4, 4)
    ),
    "second factor forgotten": (
        "detached", function(torch.mul, lambda g, a, b: (g * b, None)), (drawn(3, 4), drawn(3, 4, seed=1))
    ),
    "zeros for the second": (
        "zero-gradient", function(torch.mul, lambda g, a, b: (g * b, 0 * g)), (drawn(3, 4), drawn(3, 4, seed=1))
    ),
    "product rule without its second term": (
        "missing-term", function(lambda x: x * x.exp(), lambda g, x: g * x.exp()), (drawn(4, 5),)
    ),
    "gradient clipped on its way": (
        "not-linear", function(torch.sin, lambda g, x: g.clamp(-0.7, 0.7) * x.cos()), (drawn(4, 5),)
    ),
    "a residual whose skip is forgotten": (
        "missing-term", function(lambda x: x + x.sin(), lambda g, x: g * x.cos()), (drawn(4, 5),)
    ),
    "sigmoid without 1 - y": (
        "missing-factor", function(sigmoid, lambda g, x: g * sigmoid(x)), (drawn(4, 5),)
    ),
    "product whose factors are exchanged": (
        "missing-factor", function(torch.mul, lambda g, a, b: (g, g * a)), (drawn(3, 4), drawn(3, 4, seed=1))
    ),
    "leaky relu without its slope": (
        "one-side",
        function(lambda x: torch.where(x > 0, x, 0.1 * x), lambda g, x: g * (x > 0)), (drawn(4, 5),),
    ),
    "one element of many": (
        "few-elements", function(torch.sin, lambda g, x: spoiled_at(g * x.cos(), 7)), (drawn(4, 5),)
    ),
    "grad_output not used": (
        "grad-output-unused", function(torch.square, lambda g, x: 2 * x), (drawn(4, 5),)
    ),
    "something added": ("constant-term", function(torch.sin, lambda g, x: g * x.cos() + 0.1), (drawn(4, 5),)),
    "an epsilon of 1 % under the root": (
        "unknown", function(torch.sqrt, lambda g, x: g * 0.5 / (x + 0.01).sqrt()),
        ((drawn(4, 5).detach().abs() + 0.2).requires_grad_(),),
    ),
    "rounding with a straight-through gradient": (
        "straight-through", function(torch.round, lambda g, x: g), (drawn(4, 5),)
    ),
    "gradient reversal": ("gradient-changed", function(torch.clone, lambda g, x: -g), (drawn(4, 5),)),
    "a NaN": ("not-finite", function(torch.sin, lambda g, x: g * x.cos() * (x / 0 - x / 0)), (drawn(3),)),
}  # fmt: skip
