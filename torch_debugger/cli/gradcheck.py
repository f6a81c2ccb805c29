"""torch-debugger gradcheck FILE[:NAME]: are the backwards of a file's custom autograd Functions right?"""

from __future__ import annotations

import argparse
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from torch_debugger.cli.summary import import_file
from torch_debugger.system.errors import UsageError

if TYPE_CHECKING:
    from torch_debugger.trials.gradcheck_custom_functions import Checked, Function


InputValue = tuple[int, ...] | float | bool | None

_WORDS = {"none": None, "true": True, "false": False}
_RIGHT, _WRONG, _NOT_CHECKED = 0, 1, 2
_UNCHECKED = ("forward-raised", "no-output", "not-finite")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="FILE[:NAME]", help="a Python file, which is imported; NAME: only this Function of it"
    )
    parser.add_argument(
        "--input",
        metavar="INPUT",
        action="append",
        default=[],
        help="an input of forward: a shape such as 4,5 (one dimension: 4,), a number, true, false or none; "
        "once for each input; without it, inputs are guessed",
    )
    parser.add_argument("--second-order", action="store_true", help="check the gradients of the gradients instead")


def run(arguments: argparse.Namespace) -> int:
    path, name = _split(arguments.target)
    inputs = [_read_input(text) for text in arguments.input]
    functions = _chosen(import_file(path), path, name, inputs)
    from torch_debugger.trials.gradcheck_custom_functions import check_function

    outcomes = [check_function(each, inputs, second_order=arguments.second_order) for each in functions]
    for outcome in outcomes:
        sys.stdout.write(f"{_outcome_text(outcome, os.path.basename(path))}\n\n")
    sys.stdout.write(f"{_summary(outcomes)}\n")
    return max((_code(outcome) for outcome in outcomes), key=(_RIGHT, _NOT_CHECKED, _WRONG).index)


def _split(target: str) -> tuple[str, str]:
    path, colon, name = target.rpartition(":")
    if colon and name.isidentifier():
        return path, name
    return target, ""


def _read_input(text: str) -> InputValue:
    """4,5 -> (4, 5), a shape; 0.5 -> 0.5; none -> None"""
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        if "," in word:
            return _read_shape(word)
        return int(word) if word.lstrip("+-").isdigit() else float(word)
    except ValueError:
        raise UsageError(
            f"--input takes a shape such as 4,5 (or 4, for one dimension), a number, true, false or none, not {text!r}."
        ) from None


def _read_shape(word: str) -> tuple[int, ...]:
    sizes = tuple(int(size) for size in word.removesuffix(",").split(","))
    if min(sizes) < 1:
        raise ValueError
    return sizes


def _chosen(module: ModuleType, path: str, name: str, inputs: list[InputValue]) -> list[Function]:
    from torch_debugger.trials.gradcheck_custom_functions import functions_of

    found = functions_of(module)
    names = ", ".join(function.__name__ for function in found)
    if not found:
        raise UsageError(f"{path} defines no autograd Function: no class with a forward and a backward.")
    if name and name not in names.split(", "):
        raise UsageError(f"{path} defines no autograd Function {name}. It defines: {names}.")
    chosen = [function for function in found if name in ("", function.__name__)]
    if inputs and len(chosen) > 1:
        raise UsageError(f"--input is for one Function: name it, as in {path}:{chosen[0].__name__}.")
    return chosen


def _code(outcome: Checked) -> int:
    if outcome.result is None or any(problem.name in _UNCHECKED for problem in outcome.result.problems):
        return _NOT_CHECKED
    return _RIGHT if outcome.result or outcome.result.deliberate else _WRONG


def _outcome_text(outcome: Checked, file: str) -> str:
    place = f"{file}:{outcome.line}" if outcome.line else file
    if outcome.result is not None:
        return f"{outcome.result}\n\n  at       {place}, tried with {outcome.tried_with or 'no inputs'}"
    example = " ".join("--input 4,5" for _ in outcome.parameters)
    return (
        f"`{outcome.name}.apply`: not checked. No inputs that were tried fit its forward.\n\n"
        f"  at       {place}\n"
        f"  first    {outcome.tried_with}: {outcome.failure}\n"
        f"  fix      Name its inputs ({', '.join(outcome.parameters)}): "
        f"torch-debugger gradcheck {file}:{outcome.name} {example}"
    )


def _summary(outcomes: list[Checked]) -> str:
    codes = [_code(outcome) for outcome in outcomes]
    meant = sum(outcome.result is not None and outcome.result.deliberate for outcome in outcomes)
    counted = [(codes.count(_RIGHT) - meant, "right"), (meant, "other than its forward, perhaps on purpose")]
    counted += [(codes.count(_WRONG), "wrong"), (codes.count(_NOT_CHECKED), "not checked")]
    said = ", ".join(f"{count} {word}" for count, word in counted if count)
    return f"{len(outcomes)} custom Function{'s' * (len(outcomes) != 1)}: {said}."
