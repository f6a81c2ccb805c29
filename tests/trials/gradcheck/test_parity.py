"""The verdict is that of torch's slow mode, which tries every element one by one."""

from __future__ import annotations

from typing import Any

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


def test_functions_of_torch() -> None:
    wrong = []
    for name, (function, inputs) in FUNCTIONS.items():
        result = gradcheck(function, inputs)
        if not bool(result) == slow_mode(function, inputs) == (name not in DETACHED):
            wrong.append((name, str(result)))
    assert wrong == []


def test_modules_with_their_parameters() -> None:
    wrong = []
    for name, (module, inputs) in MODULES.items():
        result = gradcheck(module, inputs)
        tried = set(result.inputs) >= set(dict(module.named_parameters()))
        if not (result and tried and slow_mode_of_module(module, inputs)):
            wrong.append((name, result.inputs, str(result)))
    assert wrong == []


def test_wrong_backwards_are_told_by_their_pattern() -> None:
    wrong = []
    for name, (pattern, function, inputs) in WRONG.items():
        result = gradcheck(function, inputs)
        told = [mismatch.pattern.name for mismatch in result.mismatches]
        told += [problem.name for problem in result.problems]
        if result or slow_mode(function, inputs) or told != [pattern]:
            wrong.append((name, told, str(result)))
    assert wrong == []
