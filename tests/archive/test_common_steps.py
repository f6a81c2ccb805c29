"""How far two runs can be compared at all: the steps and numbers that both have."""

from __future__ import annotations

import pytest

from tests import fakes
from tests.archive.test_parting import compared
from torch_debugger.report.comparison import ComparisonReport


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (range(1, 21), range(1, 13), "12 steps that both have: | The first goes on to step 20."),
        (range(5, 13), range(1, 13), "8 steps that both have: | The second begins earlier, at step 1."),
        (range(1, 10, 4), range(1, 10), "3 steps that both have: | The second has 6 more in between."),
        (
            range(1, 9),
            range(5, 13),
            "4 steps that both have: | The first begins earlier, at step 1. The second goes on",
        ),
    ],
)
def test_what_one_run_has_beyond_the_common_steps_is_said(first: range, second: range, told: str) -> None:
    ours, theirs = ([fakes.scalars(step, {"loss": 1.0 / step}) for step in steps] for steps in (first, second))
    answer = ComparisonReport(compared([*ours], [*theirs])).answer
    assert all(part in answer for part in told.split(" | ")), answer
    rounded = [fakes.scalars(step, {"loss": (1.0 + 1e-7) / step}) for step in second]
    assert told.partition(" | ")[2] in ComparisonReport(compared([*ours], [*rounded])).answer


def test_a_single_number_is_told_in_the_singular() -> None:
    longer = [fakes.scalars(step, {"loss": 1.0}) for step in (1, 2)]
    assert ComparisonReport(compared([*longer[:1]], [*longer])).answer == (
        "The runs are the same over the one step that both have: 1 number compared, bit-equal. The second goes "
        "on to step 2."
    )


def test_runs_without_a_common_number_are_not_called_the_same() -> None:
    first, second = (fakes.scalars(1, {tag: 1.0, "time/epoch": 1.0}) for tag in ("Loss/train", "loss_train"))
    report = ComparisonReport(compared([first], [second]))
    assert report.comparison.parting.verdict == "unseen"
    assert (
        report.answer == "The runs cannot be compared step by step: there is no number that both have at the same step."
    )
    assert "Only in the first run: Loss/train." in str(report)
    assert "Only in the second run: loss_train." in str(report)


def test_runs_without_a_common_step() -> None:
    report = ComparisonReport(compared(fakes.losses([1.0, 2.0]), fakes.losses([1.0], first_step=9)))  # type: ignore[arg-type]
    assert report.answer.startswith("The runs cannot be compared step by step")
