from __future__ import annotations

import pytest

from tests.checks.training.loss_terms import comparison, spread
from tests.fakes import judged, place
from torch_debugger.records import Comparison, Finding

BCE = "BinaryCrossEntropyWithLogits"


def check(*records: Comparison) -> list[Finding]:
    return judged(records, "binary-targets-out-of-range")


def signed_labels() -> Comparison:
    return comparison(BCE, target=spread(-1, 1, 0.1, 1.0), below_zero=0.44)


def test_labels_of_minus_one_are_an_error() -> None:
    (finding,) = check(signed_labels())
    assert finding.severity == "error"
    assert finding.message == (
        "The binary cross-entropy at train.py:39 gets targets from -1 to 1: 44% of them lie outside of 0 to 1."
    )
    assert finding.fix == "Bring the targets to 0 and 1: `(target + 1) / 2`."
    assert finding.where == place(39)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1, 2, "`target - 1`"), (0, 255, "`target / 255`"), (-2.1, 2.6, "nn.MSELoss()")],
)
def test_the_fix_suits_the_range(low: float, high: float, words: str) -> None:
    (finding,) = check(comparison("BinaryCrossEntropy", target=spread(low, high), above_one=0.5))
    assert words in finding.fix


@pytest.mark.parametrize(
    "healthy",
    [
        comparison(BCE, target=spread(0, 1, 0.5, 0.5)),
        comparison(BCE, target=spread(0.0, 1.2, 0.5, 0.5), above_one=0.2),
        comparison(BCE, target=spread(0, 3, 0.5, 0.5), above_one=0.001),
        comparison("MseLoss", target=spread(-1, 1), below_zero=0.5),
    ],
    ids=["labels", "noisy labels of a GAN", "one odd label", "another loss"],
)
def test_other_targets_are_silent(healthy: Comparison) -> None:
    assert not check(healthy)
