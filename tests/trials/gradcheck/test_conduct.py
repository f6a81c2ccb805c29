"""What is wrong with a function beside its numbers, each said plainly and without a traceback."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.trials.gradcheck.wrong_backwards import drawn, function
from torch_debugger import gradcheck
from torch_debugger.system.errors import UsageError
from torch_debugger.trials.gradcheck import WrongGradientError
from torch_debugger.trials.gradcheck_result import GradcheckResult


class CustomLinear(torch.autograd.Function):
    """As tutorials write it: None for the bias is an error of the forward itself."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, weight, bias)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        x, weight, _ = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ x, grad_output.sum(0)


class OptionalBias(CustomLinear):
    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, weight, bias)
        return x @ weight.t() if bias is None else x @ weight.t() + bias

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        x, weight, bias = ctx.saved_tensors
        last = None if bias is None else grad_output.sum(0)
        return grad_output @ weight, grad_output.t() @ x, last


class BuggyReLU(torch.autograd.Function):
    """A tutorial calls it buggy for lack of a clone(); it is right."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0).float()


def only_problem(result: GradcheckResult) -> str:
    assert not result
    assert not result.mismatches
    assert len(result.problems) == 1
    return result.problems[0].name


def test_none_and_numbers_are_passed_on() -> None:
    x, weight = drawn(10, 5), drawn(3, 5, seed=1)
    assert gradcheck(OptionalBias.apply, (x, weight, None))
    assert gradcheck(OptionalBias.apply, (x, weight, drawn(3)))
    assert gradcheck(CustomLinear.apply, [x, weight, drawn(3)])
    assert gradcheck(lambda x, times, word: x * times, (x, 3, "word"))


def test_a_forward_that_cannot_take_none() -> None:
    result = gradcheck(CustomLinear.apply, (drawn(10, 5), drawn(3, 5, seed=1), None))
    assert only_problem(result) == "forward-raised"
    assert "the forward raised TypeError: unsupported operand" in str(result)
    assert "at test_conduct.py:" in str(result)
    assert "`bias` was given as None" in str(result)
    assert "Traceback" not in str(result)


def test_the_tutorials_buggy_relu_is_right() -> None:
    assert gradcheck(BuggyReLU.apply, drawn(10))


def test_single_precision_is_promoted_with_a_word_about_it() -> None:
    result = gradcheck(torch.tanh, torch.ones(3))
    assert result
    assert "float32 was checked in float64, on copies." in str(result)
    assert "float64" not in str(gradcheck(torch.tanh, drawn(3)))


def test_what_cannot_run_in_float64_is_checked_as_it_is() -> None:
    weight = torch.randn(3, 3)
    result = gradcheck(lambda x: x @ weight, torch.randn(2, 3))
    assert result
    assert "does not run in float64, so it was checked in float32" in str(result)
    wrong = function(lambda x: x @ weight, lambda g, x: 1.2 * g @ weight.t())
    assert not gradcheck(wrong, torch.randn(2, 3))


def test_float32_inside_does_not_raise_an_alarm() -> None:
    assert gradcheck(lambda x: x.float().sin().double(), drawn(4, 5))
    wrong = function(lambda x: x.float().sin().double(), lambda g, x: 1.1 * g * x.cos())
    assert not gradcheck(wrong, drawn(4, 5))


def test_half_precision_inside_is_told_as_such() -> None:
    rough = function(lambda x: x.half().sin().double(), lambda g, x: g * x.cos())
    result = gradcheck(rough, drawn(6))
    assert only_problem(result) == "coarse"
    assert "it rounds to half precision" in " ".join(str(result).split())


def test_a_small_change_of_a_large_number() -> None:
    assert gradcheck(lambda x: 1e9 + x**2, drawn(5))
    assert not gradcheck(function(lambda x: 1e9 + x**2, lambda g, x: 3 * g * x), drawn(5))


def test_no_grad_around_the_call_does_not_matter() -> None:
    with torch.no_grad():
        assert gradcheck(torch.sin, drawn(3))
    with torch.inference_mode():
        assert gradcheck(torch.sin, torch.ones(3))


def test_random_numbers() -> None:
    result = gradcheck(nn.Dropout(0.5), drawn(4, 5))
    assert only_problem(result) == "non-deterministic"
    assert "because random numbers are drawn" in " ".join(str(result).split())
    assert ".eval()" in str(result)
    assert gradcheck(nn.Dropout(0.5).eval(), drawn(4, 5))


def test_state_from_call_to_call() -> None:
    calls = []

    def counting(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x * len(calls)

    result = gradcheck(counting, drawn(3))
    assert only_problem(result) == "stateful"
    assert "random numbers are not the reason" in " ".join(str(result).split())


def test_a_backward_with_a_mood() -> None:
    moods = iter(range(1000))
    result = gradcheck(function(torch.sin, lambda g, x: g * next(moods)), drawn(3))
    assert only_problem(result) == "non-deterministic-backward"


def test_writing_into_an_input() -> None:
    result = gradcheck(function(lambda x: x.mul_(2), lambda g, x: 2 * g), drawn(3))
    assert only_problem(result) == "in-place"
    assert "changes its input" in str(result)
    noted = gradcheck(torch.relu_, drawn(5))
    assert noted
    assert "in place; copies were given to it" in str(noted)


def test_writing_into_the_incoming_gradient() -> None:
    """Alone it gives the right gradients, and so passes torch's gradcheck."""
    overwriting = function(torch.relu, lambda g, x: g.mul_(x > 0))
    assert only_problem(gradcheck(overwriting, drawn(6))) == "incoming-gradient-written"
    cloned = function(torch.relu, lambda g, x: g.clone().mul_(x > 0))
    assert gradcheck(cloned, drawn(6)) and gradcheck(function(torch.relu, lambda g, x: g * (x > 0)), drawn(6))


def test_marked_as_dirty_is_no_fault() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return 2 * grad_output

    assert gradcheck(Doubled.apply, drawn(3))


def test_too_few_gradients() -> None:
    result = gradcheck(function(torch.mul, lambda g, a, b: g * b), (drawn(3), drawn(3, seed=1)))
    assert only_problem(result) == "wrong-count"
    assert "backward returns 1 gradient, but forward takes 2 inputs." in str(result)


def test_a_gradient_of_the_wrong_shape() -> None:
    result = gradcheck(function(torch.mm, lambda g, a, b: ((g @ b.t()).t(), a.t() @ g)), (drawn(2, 3), drawn(3, 4)))
    assert only_problem(result) == "wrong-shape"
    assert "backward returns a gradient of shape [3, 2] for `input 0`, which has shape [2, 3]." in str(result)


def test_a_backward_that_raises() -> None:
    def backward(g: Any, x: Any) -> Any:
        raise KeyError("mask")

    result = gradcheck(function(torch.sin, backward), drawn(3))
    assert only_problem(result) == "backward-raised"
    assert "backward raised KeyError: 'mask' at test_conduct.py:" in str(result)


def test_outputs_that_are_not_finite() -> None:
    result = gradcheck(torch.log, torch.tensor([1.0, -1.0]))
    assert only_problem(result) == "not-finite"
    assert "`output[1]` is nan at these inputs" in str(result)


def test_nothing_to_check() -> None:
    with pytest.raises(UsageError, match="nothing to check"):
        gradcheck(lambda x: x, torch.tensor([1, 2]))
    assert only_problem(gradcheck(lambda x: x > 0, drawn(3))) == "no-output"


def test_several_outputs() -> None:
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            (x,) = ctx.saved_tensors
            return first * x.cos() + second * x.sin()

    result = gradcheck(Pair.apply, drawn(5))
    (mismatch,) = result.mismatches
    assert (mismatch.output, mismatch.pattern.name) == ("output 1", "wrong-sign")
    assert gradcheck(lambda x: {"a": x.sin(), "b": [x.cos(), x.argmax()]}, drawn(5))


def test_gradients_that_may_be_missing() -> None:
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return 2 * first + 3 * second

    assert only_problem(gradcheck(Pair.apply, drawn(5))) == "backward-raised"


def test_an_input_nobody_marked_may_be_without_gradient() -> None:
    masked = function(torch.mul, lambda g, x, mask: (g * mask, None))
    x, mask = torch.randn(4), torch.tensor([0.0, 1.0, 1.0, 0.0])
    result = gradcheck(masked, (x, mask))
    assert result
    assert "No gradient arrives at `input 1`" in str(result)
    assert not gradcheck(masked, (x.requires_grad_(), mask.requires_grad_()))


def test_raising_on_demand() -> None:
    assert gradcheck(torch.sin, drawn(3), raise_exception=True)
    with pytest.raises(WrongGradientError, match="wrong sign") as caught:
        gradcheck(function(torch.cos, lambda g, x: g * x.sin()), drawn(3), raise_exception=True)
    assert caught.value.result.mismatches
