"""The autograd Functions a module defines, each checked with inputs that were given or guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from torch_debugger.anatomy.sources import class_source
from torch_debugger.anatomy.unwarned import unwarned
from torch_debugger.trials.gradcheck.first_order import gradcheck
from torch_debugger.trials.gradcheck.guessing import Guess, as_given, guesses, required_parameters
from torch_debugger.trials.gradcheck.result import GradcheckResult
from torch_debugger.trials.gradcheck.second_order import gradgradcheck

Function = type[torch.autograd.Function]

# With inputs that nobody promised, these say more of the inputs than of the Function.
_PERHAPS_OURS = ("forward-raised", "backward-raised", "wrong-shape", "not-finite", "no-output", "kink")


@dataclass(frozen=True)
class Checked:
    """One Function, what it was tried with, and what came of it; no result: none of our inputs fit."""

    name: str
    line: int | None
    tried_with: str
    result: GradcheckResult | None
    failure: str = ""  # why the first guess did not fit
    parameters: tuple[str, ...] = ()


def functions_of(module: ModuleType) -> list[Function]:
    """Those that stand in the module's own file, in their order."""
    found = [value for value in vars(module).values() if _is_custom(value, module.__name__)]
    return list(dict.fromkeys(found))


def _is_custom(value: object, module: str) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, torch.autograd.Function)
        and value.__module__ == module
        and "forward" in vars(value)
        and value.backward is not torch.autograd.Function.backward
    )


def check_function(function: Function, given: Sequence[Any], *, second_order: bool) -> Checked:
    """`given`: shapes and other values of the inputs; without any, inputs are guessed."""
    tries = [as_given(function, given)] if given else guesses(function)
    check = gradgradcheck if second_order else gradcheck
    results = ((guess, check(function.apply, guess.inputs)) for guess in tries)
    with unwarned():  # of inputs that nobody else would give
        return _best(function, results, sure=bool(given))


def _best(function: Function, results: Iterable[tuple[Guess, GradcheckResult]], *, sure: bool) -> Checked:
    doubtful: list[tuple[Guess, GradcheckResult]] = []
    for guess, result in results:
        if sure or not any(problem.name in _PERHAPS_OURS for problem in result.problems):
            return _checked(function, guess, result)
        doubtful.append((guess, result))
    # A forward that ran and a backward that did not: that much is known of the Function.
    for guess, result in doubtful:
        if result.problems[0].name in ("backward-raised", "wrong-shape"):
            return _checked(function, guess, result)
    first = doubtful[0]
    return _checked(function, first[0], None, first[1].problems[0].words)


def _checked(function: Function, guess: Guess, result: GradcheckResult | None, failure: str = "") -> Checked:
    source = class_source(function)
    names = tuple(parameter.name for parameter in required_parameters(function))
    line = source[1].lineno if source is not None else None
    return Checked(function.__name__, line, guess.words, result, failure, names)
