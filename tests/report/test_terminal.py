"""What must hold for any text a user's script can bring into a report."""

from __future__ import annotations

import dataclasses
import io
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tests import fakes
from tests.report.results import CRASH, DEAD, NOTE, ZERO_GRAD, all_results, result_of, write_script
from torch_debugger.records import Finding, Place, UntrainedModel
from torch_debugger.report import sentences
from torch_debugger.report.result import RunResult
from torch_debugger.report.terminal import render_terminal

ANYWHERE = Path("/home/user/project")


def shown(result: RunResult, width: int = 100, colour: bool = False) -> str:
    stream = io.StringIO()
    system = "truecolor" if colour else None
    render_terminal(result, Console(file=stream, width=width, force_terminal=colour, color_system=system))
    return stream.getvalue()


@pytest.mark.parametrize("width", [30, 60, 100, 200])
def test_no_line_is_wider_than_the_terminal_or_the_eye(tmp_path: Path, width: int) -> None:
    write_script(tmp_path)
    for result in all_results(tmp_path).values():
        widths = [cell_len(line) for line in shown(result, width).split("\n")]
        assert max(widths) <= min(width, 100)


def test_colour_adds_styles_and_changes_no_word(tmp_path: Path) -> None:
    for result in all_results(tmp_path).values():
        plain, coloured = shown(result), shown(result, colour=True)
        assert "\x1b" not in plain
        assert without_styles(coloured) == plain


def without_styles(coloured: str) -> str:
    return Text.from_ansi(coloured).plain


hostile = some.text(some.characters() | some.sampled_from("[]\\/\x1b\x9b\r\n\t\u202e"), max_size=40)


@settings(max_examples=60, deadline=None)
@given(hostile, hostile, hostile, hostile)
def test_no_user_text_can_steer_the_terminal(name: str, message: str, file: str, code: str) -> None:
    finding = fakes.finding(
        name,
        message=message,
        where=Place(file=file, line=1, module=name, code=code),
        evidence={message: code, name: 1.0},
        edit=fakes.edit(code, message),
    )
    text = shown(result_of(ANYWHERE, [finding], fakes.end()))
    steering = {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert steering <= {"\n", "\u200d"}


def test_no_line_ends_in_blanks(tmp_path: Path) -> None:
    for result in all_results(tmp_path).values():
        lines = shown(result).split("\n")
        assert lines == [line.rstrip() for line in lines]


def test_paths_inside_the_folder_of_the_run_are_short() -> None:
    finding = fakes.finding(message=f"{ANYWHERE}/train.py:3 and {ANYWHERE}/a/b.py and /home/other.py differ.")
    text = shown(result_of(ANYWHERE, [finding]))
    assert "  train.py:3 and a/b.py and /home/other.py differ.\n" in text


def test_markup_in_a_name_is_shown_as_it_is() -> None:
    finding = fakes.finding(where=fakes.place(3, module="net[red]", file="a[/b].py"), evidence={"[b]": "[/i]"})
    text = shown(result_of(ANYWHERE, [finding]))
    assert "a[/b].py:3 in net[red]" in text
    assert "[b]  [/i]" in text


def test_many_other_findings_are_counted_not_listed() -> None:
    many: list[Finding] = [ZERO_GRAD] + [fakes.finding("dead-relu", "warning") for _ in range(11)]
    text = shown(result_of(ANYWHERE, many))
    assert text.count("warning: dead-relu") == 8
    assert "3 more; --json FILE writes them all." in text


def test_nothing_is_alarming_about_a_healthy_run() -> None:
    result = result_of(ANYWHERE, [], *fakes.losses([2.0, 0.5]), fakes.end(steps=1), log=None)
    assert (
        shown(result) == "Nothing wrong found: train.py finished after 1 optimizer step, loss 2 -> 0.5 (12 checks).\n"
    )


def test_one_backward_pass_is_one_pass() -> None:
    for steps, counted in ((1, "1 backward pass"), (2, "2 backward passes")):
        end = dataclasses.replace(fakes.end(steps=steps), counted="backward passes")
        result = result_of(ANYWHERE, [], fakes.scalars(steps, loss=1.0), end)
        assert f"after {counted}, loss" in sentences.run_sentence(result)


def test_a_run_without_a_training_step_gets_no_all_clear() -> None:
    result = result_of(ANYWHERE, [], fakes.scalars(0, grad_norm=1.0), exit_code=0)
    assert sentences.opening(result) == (
        "train.py finished; no training step was seen. Nothing wrong was found, but no training could be "
        "judged: backward() and optimizers are watched, updates made by hand are not."
    )


def test_a_script_that_only_runs_models_is_told_what_was_seen_and_what_can_be_done() -> None:
    net = UntrainedModel("net", "Net", 20, 8, Place())
    other = UntrainedModel("aux", "Sequential", 1, 1, Place())
    result = result_of(ANYWHERE, [], net, other, fakes.end(steps=0), log=None)
    assert sentences.opening(result) == (
        "train.py finished: `net` (Net) was called 20 times, `aux` (Sequential) once; no backward() and no "
        "optimizer step was seen. No NaN in 9 outputs looked at. torch_debugger.activations(net, x) shows "
        "what each layer gives, torch_debugger.doctor(net, loss_fn, (x, y)) tries the model before it is "
        "trained, and a script that trains it is watched step by step."
    )


def test_a_script_that_calls_no_model_is_not_said_to_be_without_torch() -> None:
    result = result_of(ANYWHERE, [], fakes.end(steps=0), log=None)
    assert sentences.opening(result).startswith(
        "train.py finished; it imported torch, but no model was called and nothing was trained. torch_debugger."
    )


@pytest.mark.parametrize(
    ("exit_code", "steps", "sentence"),
    [
        (0, 5, "train.py finished after 5 steps."),
        (3, 5, "train.py crashed with exit code 3 after 5 steps."),
        (-11, 5, "train.py was ended by signal 11 (SIGSEGV) after 5 steps."),
        (134, 0, "train.py was ended by signal 6 (SIGABRT) before its first step was done."),
        (-2, 5, "train.py was stopped by signal 2 (SIGINT) after 5 steps."),
        (-15, 1, "train.py was stopped by signal 15 (SIGTERM) after 1 step."),
        (0, 0, "train.py finished; no training step was seen."),
    ],
)
def test_how_a_run_ended(exit_code: int, steps: int, sentence: str) -> None:
    result = result_of(ANYWHERE, [], fakes.scalars(steps, grad_norm=1.0), exit_code=exit_code)
    assert sentences.run_sentence(result) == sentence


def test_a_run_that_never_trained_and_crashed_is_not_called_healthy() -> None:
    text = shown(result_of(ANYWHERE, [], fakes.end("crashed", 0), exit_code=1, log=None))
    assert text == (
        "train.py crashed with exit code 1 before its first step was done. No check recognised the cause;\n"
        "what the script itself printed is above.\n"
    )


def test_a_run_that_ended_itself_with_an_error_is_not_called_healthy() -> None:
    result = result_of(ANYWHERE, [], fakes.end("stopped", 0), exit_code=2, log=None)
    assert sentences.opening(result).startswith("train.py was stopped with exit code 2 before its first step")
    assert "Up to there nothing wrong was found" in sentences.opening(result)


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (ZERO_GRAD, "train.py:14, since step 2"),
        (DEAD, "train.py:6 in net.1, since step 60"),
        (NOTE, "train.py:12, since step 1"),
    ],
)
def test_where(finding: Finding, text: str) -> None:
    assert sentences.where(finding, result_of(ANYWHERE, [finding])) == text


def test_a_crash_is_at_a_step_not_since_it() -> None:
    late = fakes.finding(where=Place(module="net.2"), first_step=8, last_step=8)
    result = result_of(ANYWHERE, [late], fakes.end("crashed", 7), exit_code=1)
    assert sentences.where(late, result) == "net.2, at step 8"
    assert sentences.where(CRASH, result) == "train.py:13 in net.2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (1_204_000, "1,204,000"),
        (0.123456, "0.1235"),
        (1.25e-7, "1.25e-07"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (1e300, "1e+300"),
        ("two  words\n", "two words"),
    ],
)
def test_numbers(value: float | str, text: str) -> None:
    assert sentences.number(value) == text


@pytest.mark.parametrize(
    ("spent_s", "elapsed_s", "text"),
    [
        (0.27, 34.37, "0.8 % of 34.1 s (budget 2 %), 12 deep steps"),
        (0.16, 0.30, "0.16 s on top of 0.14 s (too short a run for a budget of 2 %), 12 deep steps"),
        (1.0, 11.0, "10.0 % of 10.0 s (budget 2 %), 12 deep steps"),
        (0.0, 0.0, "0.0 % of 0.0 s (budget 2 %), 12 deep steps"),
        (1.99, 0.0, "1.99 s, before any step was timed"),
    ],
)
def test_cost(spent_s: float, elapsed_s: float, text: str) -> None:
    assert sentences.cost_sentence(fakes.cost(spent_s, elapsed_s)) == text


def test_a_hang_that_was_told_and_went_on_is_a_note_under_how_the_run_went(tmp_path: Path) -> None:
    told = fakes.finding(name="training-stands-still", severity="error", message="It stands still.")
    since = dataclasses.replace(told, severity="note", message="It stood still and went on.")
    result = dataclasses.replace(result_of(tmp_path, [since]), verdict=None, told=(told,))
    text = shown(result)
    assert text.startswith("train.py finished")
    assert "It stood still and went on." in text
    assert "It stands still." not in text
