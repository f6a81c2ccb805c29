"""What torch's fast mode misses at 50x50: small errors everywhere, and one element among thousands."""

from __future__ import annotations

import pytest
import torch

from tests.trials.gradcheck.wrong_backwards import drawn, function
from torch_debugger import gradcheck

SIZE = 50


def product(spoil: object) -> object:
    return function(torch.mm, lambda g, a, b: (spoil(g @ b.t()), a.t() @ g))


def inputs(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    return drawn(SIZE, SIZE, seed=seed), drawn(SIZE, SIZE, seed=seed + 1000)


# Two draws of each; benchmarks/numerics_gradcheck.py counts over twenty.
SEEDS = (0, 17)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_backward_raises_no_alarm(seed: int) -> None:
    assert gradcheck(product(lambda gradient: gradient), inputs(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_one_percent_everywhere(seed: int) -> None:
    result = gradcheck(product(lambda gradient: gradient * 1.01), inputs(seed))
    assert [mismatch.input for mismatch in result.mismatches] == ["input 0"]
    assert result.mismatches[0].pattern.name == "missing-factor"
    assert "gives 1.01 times" in str(result)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_element_of_2500(seed: int) -> None:
    row, column = (seed * 7) % SIZE, (seed * 13 + 5) % SIZE
    factor = torch.ones(SIZE, SIZE, dtype=torch.float64)
    factor[row, column] = 1.1
    result = gradcheck(product(lambda gradient: gradient * factor), inputs(seed))
    assert [mismatch.element for mismatch in result.mismatches] == [f"input 0[{row}, {column}]"]
    assert result.mismatches[0].relative_error == pytest.approx(0.1 / 1.1, rel=1e-3)


def test_fast_mode_misses_both() -> None:
    """If this fails, torch has become sharper and the page about it is out of date."""
    spoiled = product(lambda gradient: gradient * 1.01)
    assert torch.autograd.gradcheck(spoiled, inputs(0), fast_mode=True)


def test_a_wrong_gradient_of_a_small_derivative() -> None:
    """Slow mode lets any gradient below its atol of 1e-5 pass."""
    halved = function(lambda x: x.square().mean() * 1e-4, lambda g, x: g * x / x.numel() * 1e-4)
    x = drawn(30, 30)
    assert torch.autograd.gradcheck(halved, x)
    result = gradcheck(halved, x)
    assert result.mismatches[0].pattern.name == "missing-factor"


def test_tolerances_of_the_caller_are_kept() -> None:
    spoiled = product(lambda gradient: gradient * 1.01)
    small = (drawn(4, 4), drawn(4, 4, seed=1))
    assert not gradcheck(spoiled, small)
    result = gradcheck(spoiled, small, rtol=0.02)
    assert result
    assert "more than rounding explains and within the tolerance" in " ".join(str(result).split())
    assert gradcheck(spoiled, small, atol=1.0)
    assert not gradcheck(spoiled, small, eps=1e-5)
