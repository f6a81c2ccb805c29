"""Real pairs of runs with one known difference: the answer names the step, the place and the cause."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import torch_debugger
from tests import preloaded
from tests.archive.other_pairs import PAIRS
from tests.archive.variations import BASE, CHANGES, script
from torch_debugger.log.run import Run
from torch_debugger.report.comparison import ComparisonReport


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pairs")
    (made / "base.py").write_text(BASE)
    for name, text in {**{change: script(change) for change in CHANGES}, **PAIRS}.items():
        (made / f"{name}.py").write_text(text)
    (made / "deep base.py").write_text(BASE)
    (made / "deep one bad step.py").write_text(script("one bad step"))
    command = [sys.executable, "-m", "tests.archive.make_runs", str(made)]
    done = preloaded.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def compared(folder: Path) -> Callable[[str], ComparisonReport]:
    """The base held against what was changed in it, each pair once; of the base the log is read once."""
    base = Run(folder / "base")
    return functools.cache(lambda change: torch_debugger.diff(base, folder / change))


def in_one_line(report: ComparisonReport) -> str:
    return " ".join(str(report).split())


Compared = Callable[[str], ComparisonReport]
SAME = ["again", "names"]
ROUNDING = ["another order of sums", "rounding", "float64"]
PARTED = [
    # change, step, phase, tensor, what the text must say
    ("seed", 1, "weights", "net.fc1.weight", "as two draws of one distribution do: another seed"),
    ("init", 1, "weights", "net.fc2.weight", "4.74 times the norm, which another seed does not explain"),
    ("order", 1, "batch", "batch[0]", "the same samples in another order"),
    ("no normalisation", 1, "batch", "batch[0]", "other values: another normalisation"),
    ("batch size", 1, "batch", "batch[0]", "loader 1: batch size 64 32"),
    ("prepared", 1, "input", "net.fc1", "The batches are equal, but the model is given other numbers"),
    ("dropout", 1, "forward", "net.drop", "net.drop: p 0.1 0.3"),
    ("a draw more", 1, "forward", "net.drop", "net.drop drops other units with the same share"),
    ("eps", 1, "forward", "net.norm", "net.norm: eps 1e-05 0.001"),
    ("gelu", 1, "forward", "net.drop", "operations on the way to the loss Relu Gelu"),
    ("eval mode", 1, "forward", "net.drop", "mode of net train eval"),
    ("port", 1, "forward", "net.fc2", "net.fc2 (net.2 in the second run)"),
    ("reduction", 1, "loss", "loss", "NllLoss: reduction mean sum"),
    ("smoothing", 1, "loss", "loss", "The model's outputs are equal and the loss is not"),
    ("detached", 1, "gradients", "net.fc1.weight", "frozen there, detached, or not used"),
    ("hook", 1, "backward", "net.drop", "a detach(), a custom backward, or a factor"),
    ("clipping", 1, "gradients", "net.fc1.weight", "clipping of opt at none 0.1"),
    ("accumulated", 2, "gradients", "net.fc1.weight", "Compare the calls of zero_grad()"),
    ("frozen", 1, "gradients", "net.fc1.weight", "net.fc1.weight gets no gradient in the second run"),
    ("lr", 1, "rate", "lr/0", "opt: lr 0.003 0.001"),
    ("schedule", 2, "rate", "lr/0", "CosineAnnealingLR: T_max 40 80"),
    ("weight decay", 1, "update", "net.fc1.weight", "opt: weight_decay 0.01 0"),
    ("adam", 1, "update", "net.fc1.weight", "opt: kind AdamW Adam"),
    ("one bad step", 11, "loss", "loss", "the weights and the batch were bit-equal until then"),
    ("weights touched", 10, "weights", "net.head.weight", "The gradients of step 9 were equal"),
]


def test_equal_runs_are_said_to_be_equal(compared: Compared) -> None:
    for change in SAME:
        report = compared(change)
        assert report.comparison.parting.verdict == "same", change
        assert report.answer.startswith("The runs are the same: 12 steps, "), change
        assert report.answer.endswith(" numbers compared, every one of them bit-equal."), change
        assert report.comparison.cause is None, change


def test_a_run_that_goes_on_is_equal_only_as_far_as_both_go(compared: Compared) -> None:
    report = compared("longer")
    assert report.comparison.parting.verdict == "same"
    assert report.answer.startswith("The runs are the same over the 12 steps that both have: ")
    assert report.answer.endswith("every one of them bit-equal. The second goes on to step 16.")
    assert "What differs below has no effect beyond that in the steps that both have." in in_one_line(report)


def test_rounding_is_no_difference(compared: Compared) -> None:
    for change in ROUNDING:
        report = compared(change)
        parting = report.comparison.parting
        assert parting.verdict == "rounding", (change, report.answer)
        assert parting.largest is not None and parting.largest.size < 1e-3, change
        assert "no number differs by more than rounding explains" in report.answer, change
        assert "at step 1, by " in report.answer, change


def test_the_place_and_the_cause_are_named(compared: Compared) -> None:
    wrong = []
    for change, step, phase, name, words in PARTED:
        report = compared(change)
        gap = report.comparison.parting.gap
        found = gap and (gap.step, gap.phase, gap.name)
        if found != (step, phase, name) or words not in in_one_line(report):
            wrong.append(f"{change}: at {found}, expected at {(step, phase, name)} with {words!r}:\n{report}")
    assert not wrong, "\n\n".join(wrong)


def test_a_batch_that_is_normalised_later_is_harmless(compared: Compared) -> None:
    report = compared("late normalisation")
    assert report.comparison.parting.verdict == "same"
    assert "of which the model is given the same; all else is bit-equal" in report.answer


def test_gradients_that_are_rounding_alone_are_no_difference(folder: Path) -> None:
    """Adam makes large updates of them, and batch norm takes those out again."""
    for other in ("normed, rounded", "normed, summed in turn"):
        report = torch_debugger.diff(folder / "normed", folder / other)
        assert report.comparison.parting.verdict == "rounding", (other, report.answer)


BLAMED = [
    ("slope", "forward", "D.1", "between the output of D.0, which is equal, and that of D.1"),
    ("rate", "rate", "lr/opt_d/0", "opt_d: lr 0.001 0.002"),
    ("epsilon", "update", "D.0.weight", "opt_d: eps 1e-08 0.01"),
    ("loss", "loss", "loss/loss_g", "operations on the way to the loss none Neg"),
]


def test_of_two_optimizers_the_right_one_is_blamed(folder: Path) -> None:
    first = Run(folder / "adversaries")
    for other, phase, name, words in BLAMED:
        report = torch_debugger.diff(first, folder / f"adversaries, {other}")
        gap = report.comparison.parting.gap
        assert gap is not None, other
        assert (gap.step, gap.phase, gap.name) == (1, phase, name)
        assert words in in_one_line(report)


def test_accumulated_gradients_that_come_to_the_same(folder: Path) -> None:
    report = torch_debugger.diff(folder / "plain", folder / "plain, in parts")
    assert report.answer.startswith("The runs part at step 1, first in the input of net.0 (elements 512 -> 256)")
    assert "The weights that step 2 begins with are equal all the same, up to rounding." in report.answer
    assert "a step made of parts (accumulated gradients)" in in_one_line(report)


def test_weights_that_part_are_not_said_to_be_equal(compared: Compared) -> None:
    assert "begins with are equal" not in compared("gelu").answer


def test_names_that_changed_are_told(compared: Compared) -> None:
    text = in_one_line(compared("names"))
    assert "Matched by order and shape: net = model" in text
    assert "net.fc1 = model.first" in text


def test_how_exact_the_place_is(compared: Compared) -> None:
    report = compared("one bad step")
    assert not report.comparison.parting.exact
    assert "Step 11 was not looked at closely in both runs (the last that was is step " in str(report)
    assert "torch-debugger run --deep-steps 11 base.py" in str(report)


def test_deep_steps_make_it_exact(folder: Path) -> None:
    report = torch_debugger.diff(folder / "deep base", folder / "deep one bad step")
    assert report.comparison.parting.exact
    assert "The model's outputs are equal and the loss is not" in str(report)


def test_the_answer_is_the_other_way_round(folder: Path, compared: Compared) -> None:
    there = compared("dropout").comparison.parting.gap
    back = torch_debugger.diff(folder / "dropout", folder / "base").comparison.parting.gap
    assert there is not None and back is not None
    assert (there.first, there.second, there.name) == (back.second, back.first, back.name)


def test_replicates_tell_whether_seeds_explain_it(folder: Path) -> None:
    runs = [folder / name for name in ("seed", "seed 2", "lr with seed", "lr with seed 2")]
    report = torch_debugger.diff(folder / "base", folder / "lr", replicates=runs)
    assert [whose for _, whose in report.comparison.groups] == ["first", "first", "second", "second"]
    (loss,) = [noise for noise in report.comparison.noise if noise.tag == "loss"]
    assert len(loss.first) == len(loss.second) == 3
    assert loss.difference > 3 * loss.spread
    assert "): more than seeds explain" in in_one_line(report)


def test_another_order_is_not_called_more_than_seeds_explain(folder: Path) -> None:
    runs = [folder / name for name in ("seed", "seed 2")]
    report = torch_debugger.diff(folder / "base", folder / "order", replicates=runs)
    assert "times the spread of runs of one kind" in in_one_line(report)
    assert "): more than seeds explain" not in in_one_line(report)
