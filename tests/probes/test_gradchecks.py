"""A gradcheck of the script's own that fails: what it checked is found in the frames, and compared again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd.gradcheck import GradcheckError

from tests.probes.watching import watched
from torch_debugger.crashes.autograd_functions import failed_gradcheck
from torch_debugger.records import GradientCheckFact
from torch_debugger.runner.replays import GradientTrials


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad * 1.5 * x**2  # half of it


def cubed(x: torch.Tensor) -> torch.Tensor:
    return Cube.apply(x * 1.0)  # type: ignore[no-any-return,no-untyped-call]


def values() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(3, dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize(("target", "checked"), [(Cube.apply, Cube), (cubed, cubed)])
def test_behind_an_exception(target: Any, checked: Any) -> None:
    x = values()
    with watched() as seen:
        with pytest.raises(GradcheckError) as raised:
            gradcheck(target, (x,))
        GradientTrials(seen.plumbing.watch).end_by(raised.value)
    found = failed_gradcheck(raised.value)
    assert found is not None
    assert (found.target, found.function) == (checked, Cube)
    (fact,) = seen.of(GradientCheckFact)
    assert isinstance(fact, GradientCheckFact)
    assert (fact.function, fact.outcome, fact.ended, fact.pattern) == ("Cube", "wrong", True, "missing-factor")
    assert fact.numerical == pytest.approx(2 * fact.analytical)


def test_behind_an_assert_on_the_call() -> None:
    x = values()
    with pytest.raises(AssertionError) as raised:
        assert gradcheck(Cube.apply, (x,), raise_exception=False)
    found = failed_gradcheck(raised.value)
    assert found is not None
    assert found.target is Cube
    assert found.inputs == (x,)


def test_behind_an_assert_on_what_it_gave() -> None:
    x = values()
    with pytest.raises(AssertionError) as raised:  # noqa: PT012  the line of the assert is the subject
        passed = gradcheck(cubed, x, raise_exception=False)
        assert passed
    found = failed_gradcheck(raised.value)
    assert found is not None
    assert found.target is cubed


def test_an_assert_on_something_else() -> None:
    x = values()
    with pytest.raises(AssertionError) as raised:  # noqa: PT012  as above
        passed = gradcheck(torch.sin, x)
        fine = passed and x.numel() > 5
        assert fine is None
    assert failed_gradcheck(raised.value) is None


def test_a_gradcheck_that_fails_for_another_reason_is_left_alone() -> None:
    x = torch.randn(3)
    with watched() as seen:
        with pytest.raises(ValueError, match="requires_grad") as raised:
            gradcheck(Cube.apply, (x,))
        GradientTrials(seen.plumbing.watch).end_by(raised.value)
    assert seen.of(GradientCheckFact) == []
