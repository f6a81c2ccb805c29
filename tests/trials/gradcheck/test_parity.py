"""The verdict is that of torch's slow mode, which tries every element one by one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.trials.gradcheck.battery import DETACHED, FUNCTIONS, MODULES
from tests.trials.gradcheck.wrong_backwards import WRONG
from torch_debugger import gradcheck


def slow_mode(function: Any, inputs: tuple[Any, ...]) -> bool:
    return bool(torch.autograd.gradcheck(function, inputs, raise_exception=False))


def slow_mode_of_module(module: nn.Module, inputs: tuple[Any, ...]) -> bool:
    names = list(dict(module.named_parameters()))

    def function(*values: Any) -> Any:
        state = dict(zip(names, values[len(inputs) :], strict=True))
        made = torch.func.functional_call(module, state, values[: len(inputs)])
        return made[0] if isinstance(made, tuple) else made

    parameters = [value.detach().clone().requires_grad_() for value in module.parameters()]
    return slow_mode(function, (*inputs, *parameters))


def test_the_battery_is_large_enough() -> None:
    assert len(FUNCTIONS) + len(MODULES) >= 40
    assert len(WRONG) >= 15


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_torch(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    result = gradcheck(function, inputs)
    assert bool(result) == slow_mode(function, inputs), result
    assert bool(result) == (name not in DETACHED), result


@pytest.mark.parametrize("name", MODULES)
def test_modules_with_their_parameters(name: str) -> None:
    module, inputs = MODULES[name]
    result = gradcheck(module, inputs)
    assert result
    assert set(result.inputs) >= set(dict(module.named_parameters()))
    assert slow_mode_of_module(module, inputs)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_backwards_are_told_by_their_pattern(name: str) -> None:
    pattern, function, inputs = WRONG[name]
    assert not slow_mode(function, inputs)
    result = gradcheck(function, inputs)
    assert not result
    told = [mismatch.pattern.name for mismatch in result.mismatches]
    told += [problem.name for problem in result.problems]
    assert told == [pattern], result
