"""The autograd Functions a module defines, each checked with inputs that were given or guessed."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from torch_debugger.model.forks import ForkedTask, unwarned
from torch_debugger.records import GradientCheckFact, Place
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.source.files import class_source, place_at
from torch_debugger.system.clocks import time
from torch_debugger.trials.gradcheck import gradcheck, gradgradcheck
from torch_debugger.trials.gradcheck_inputs import GuessedInputs, guesses, input_names, inputs_from, required_parameters
from torch_debugger.trials.gradcheck_result import GradcheckResult

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
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, torch.autograd.Function)
        and value.__module__ == module.__name__
        and "forward" in vars(value)
        and value.backward is not torch.autograd.Function.backward
    ]
    return list(dict.fromkeys(found))


def check_function(function: Function, inputs: Sequence[Any], *, second_order: bool) -> Checked:
    """`inputs`: shapes and other values of the inputs; without any, inputs are guessed."""
    check = gradgradcheck if second_order else gradcheck
    source = class_source(function)
    line = source[1].lineno if source is not None else None
    names = tuple(parameter.name for parameter in required_parameters(function))
    doubtful: list[tuple[GuessedInputs, GradcheckResult]] = []
    with unwarned():  # of inputs that nobody else would give
        for guess in [inputs_from(function, inputs)] if inputs else guesses(function):
            result = check(function.apply, guess.inputs)
            if inputs or not any(problem.name in _PERHAPS_OURS for problem in result.problems):
                return Checked(function.__name__, line, guess.words, result, "", names)
            doubtful.append((guess, result))
    # A forward that ran and a backward that did not: that much is known of the Function.
    for guess, result in doubtful:
        if result.problems[0].name in ("backward-raised", "wrong-shape"):
            return Checked(function.__name__, line, guess.words, result, "", names)
    guess, result = doubtful[0]
    return Checked(function.__name__, line, guess.words, None, result.problems[0].words, names)


# Custom Functions met in training, each checked once in a fork, on the very inputs it met.
_LARGEST = 2**21  # elements of all inputs together: about fifty forwards must fit into the time
_TIMEOUT_S = 30.0


class CustomGradients:
    """The checks under way. `poll` them between steps; `finish` them when the script ends."""

    def __init__(self) -> None:
        self._running: list[tuple[ForkedTask, GradientCheckFact]] = []
        self._refused: list[GradientCheckFact] = []

    def start(self, target: Any, arguments: tuple[Any, ...], step: int, named: Function | None = None) -> None:
        """target: a Function of the user's own, or what calls the one of this name."""
        is_class = isinstance(target, type) and issubclass(target, torch.autograd.Function)
        function = target.apply if is_class else target
        draft = _draft(function, arguments, step, named or target)
        if draft.words:
            self._refused.append(draft)
            return

        def check() -> str:
            with torch.enable_grad():
                result = gradcheck(function, arguments)
            return json.dumps(to_plain(_judged(result, draft)))

        task = ForkedTask(check, _TIMEOUT_S)
        self._running.append((task, draft))

    def poll(self) -> list[GradientCheckFact]:
        """What has been found since. Never waits."""
        found, self._refused = self._refused, []
        for entry in tuple(self._running):
            task, draft = entry
            text = task.poll()
            if text is None:
                continue
            self._running.remove(entry)
            if task.ended == "done":
                record = from_plain("GradientCheckFact", json.loads(text))
                assert isinstance(record, GradientCheckFact)
                found.append(record)
            else:
                why = "it took too long" if task.ended == "timeout" else "the process of the check died"
                found.append(dataclasses.replace(draft, outcome="unchecked", words=why))
        return found

    def finish(self) -> list[GradientCheckFact]:
        """The last ones are waited for: they were asked for, and each ends itself in time."""
        found, deadline = self.poll(), time.monotonic() + _TIMEOUT_S
        while self._running and time.monotonic() < deadline:
            time.sleep(0.02)
            found += self.poll()
        for task, draft in self._running:
            task.kill()
            found.append(dataclasses.replace(draft, outcome="unchecked", words="the script ended before its check did"))
        self._running.clear()
        return found


def _draft(function: Any, arguments: tuple[Any, ...], step: int, named: Any) -> GradientCheckFact:
    names = input_names(function, len(arguments))
    tensors = [pair for pair in zip(names, arguments, strict=True) if isinstance(pair[1], torch.Tensor)]
    inputs = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in tensors)
    words = ""
    if sum(tensor.numel() for _, tensor in tensors) > _LARGEST:
        words = f"its inputs are too large ({inputs})"
    elif sys.platform == "win32":
        words = "this system cannot fork"
    elif torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        words = "a GPU is in use, and the check needs a process of its own"
    elif torch.distributed.is_available() and torch.distributed.is_initialized():
        words = "a process group is in use, whose sockets a fork would share"
    name = getattr(named, "__name__", type(named).__name__)
    return GradientCheckFact(name, "unchecked", _place(named), step, inputs, words=words)


def _place(function: Any) -> Place:
    """The line of its backward; of its class where that is inherited; of a plain function its first."""
    if not isinstance(function, type):
        code = getattr(function, "__code__", None)
        return place_at(code.co_filename, code.co_firstlineno) if code is not None else Place()
    source = class_source(function)
    if source is None:
        return Place()
    file, statement = source
    lines = [part.lineno for part in statement.body if getattr(part, "name", "") == "backward"]
    return place_at(file, lines[0] if lines else statement.lineno)


# These keep a gradient from being compared; they do not say that it is wrong.
_NO_VERDICT = ("forward-raised", "stateful", "not-finite", "no-output", "uneven-outputs", "kink", "coarse")
_COMPARED_ALL_THE_SAME = "non-deterministic"  # with the same random numbers in every call


def _judged(result: GradcheckResult, draft: GradientCheckFact) -> GradientCheckFact:
    problems = [problem for problem in result.problems if problem.name != _COMPARED_ALL_THE_SAME]
    if problems and problems[0].name in _NO_VERDICT:
        return dataclasses.replace(draft, outcome="unchecked", words=problems[0].words.rstrip("."))
    outcome = "deliberate" if result.deliberate else "wrong"
    if result.mismatches:
        worst = result.mismatches[0]
        return dataclasses.replace(
            draft,
            outcome=outcome,
            input=worst.input,
            element=worst.element,
            output_element=worst.output_element,
            analytical=worst.analytical,
            numerical=worst.numerical,
            relative_error=worst.relative_error,
            pattern=worst.pattern.name,
            words=worst.pattern.words,
            advice=worst.pattern.advice,
            others=tuple(other.input for other in result.mismatches[1:]),
        )
    if problems:
        first = problems[0]
        return dataclasses.replace(draft, outcome=outcome, pattern=first.name, words=first.words, advice=first.advice)
    return dataclasses.replace(draft, outcome="right")
