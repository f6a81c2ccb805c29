"""What is said of how two runs end, beside how far apart runs of one kind do."""

from __future__ import annotations

import pytest

from torch_debugger.log.compare import compare_means
from torch_debugger.records.findings import Noise
from torch_debugger.report.comparison import noise_sentence


def told(first: tuple[float, ...], second: tuple[float, ...]) -> str:
    return noise_sentence(Noise("loss", first, second, *compare_means(first, second), (20, 20)))


def test_a_difference_within_the_spread_is_one_that_seeds_explain() -> None:
    assert told((1.0, 1.2, 1.1), (1.05, 1.25)) == (
        "loss, step 20: 1.1 (3 runs, 1 to 1.2) and 1.15 (2 runs, 1.05 to 1.25). The difference is 0.43 times "
        "the spread of runs of one kind (0.12): no more than seeds explain (seeds alone give it or more in "
        "67 % of such comparisons)."
    )


def test_a_difference_far_beyond_the_spread_is_real() -> None:
    assert "times the spread of runs of one kind (0.1): more than seeds explain (" in told(
        (1.0, 1.1, 1.2), (3.0, 3.1, 3.2)
    )


def test_few_runs_that_are_far_apart_are_called_too_few_and_not_explained() -> None:
    sentence = told((1.0, 1.1), (1.5,))
    assert sentence.endswith(
        "The difference is 6.4 times the spread of runs of one kind (0.071), but 3 runs are too few to be sure "
        "of it: seeds alone give it or more in 12 % of such comparisons. More replicates would tell."
    )
    assert "no more than" not in sentence


@pytest.mark.parametrize(("second", "words"), [((2.0,), "so the difference is real."), ((1.0,), "and 1.")])
def test_runs_of_one_kind_that_do_not_differ_at_all(second: tuple[float, ...], words: str) -> None:
    assert words in told((1.0, 1.0), second)
