"""At a kink there is no derivative: the check goes beside it and says so."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.trials.gradcheck.wrong_backwards import function
from torch_debugger import gradcheck

ON_KINKS = {
    "relu at 0": (torch.relu, torch.tensor([-1.0, 0.0, 2.0])),
    "all of a relu at 0": (torch.relu, torch.zeros(3, 4)),
    "a tie of a max": (lambda x: x.max(0)[0], torch.tensor([1.0, 2.0, 2.0])),
    "max pooling of equal numbers": (nn.MaxPool1d(2), torch.ones(1, 1, 4)),
    "clamp at its edge": (lambda x: x.clamp(0, 1), torch.tensor([0.0, 0.5, 1.0])),
    "root at 0": (torch.sqrt, torch.tensor([0.0, 1.0])),
    "a jump": (lambda x: x * (x >= 1), torch.tensor([1.0, 3.0])),
    "nearly at a kink": (torch.relu, torch.tensor([1e-9, 1.0, -1e-9])),
}


@pytest.mark.parametrize("name", ON_KINKS)
def test_right_beside_the_kink(name: str) -> None:
    target, x = ON_KINKS[name]
    result = gradcheck(target, x)
    assert result, result
    assert "without a derivative" in str(result)
    assert "was moved by about 0.001 of its size, and checked there" in " ".join(str(result).split())


def test_the_element_is_named() -> None:
    result = gradcheck(torch.relu, torch.tensor([-1.0, 0.0, 2.0]))
    assert "`input 0[1]` lies on a point without a derivative" in str(result)


def test_abs_at_0_agrees_with_the_mean_of_both_sides() -> None:
    assert gradcheck(torch.abs, torch.tensor([0.0, 1.0]))


def test_a_wrong_backward_does_not_hide_behind_a_kink() -> None:
    wrong = function(torch.relu, lambda g, x: 2 * g * (x > 0))
    result = gradcheck(wrong, torch.tensor([-1.0, 0.0, 2.0]))
    assert [mismatch.pattern.name for mismatch in result.mismatches] != []
    assert "without a derivative" in str(result)


def test_strong_curvature_is_no_kink() -> None:
    assert gradcheck(lambda x: (50 * x).sin().exp(), torch.linspace(-1, 1, 30))
    assert gradcheck(lambda x: x.sum() ** 5, torch.randn(100))
    assert gradcheck(lambda x: 1 / x, torch.tensor([1e-3, 1.0, 1e3]))
    assert gradcheck(torch.log, torch.tensor([1e-7, 1e-3, 1e5]))
