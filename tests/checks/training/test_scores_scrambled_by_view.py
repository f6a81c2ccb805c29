from __future__ import annotations

import pytest

from tests.checks.graphs import Shape, chain
from tests.fakes import judged
from torch_debugger.records import Finding, Record


def check(*records: Record) -> list[Finding]:
    return judged(records, "scores-scrambled-by-view")


def sequence(given: Shape, viewed: Shape, by: str = "View") -> Record:
    batch, classes, length = viewed
    return chain(
        ("NllLoss2D", ()), ("View", (batch, classes, 1, length)), ("LogSoftmax", viewed), (by, viewed),
        ("Addmm", given),
    )  # fmt: skip


def flat(given: Shape, viewed: Shape) -> Record:
    return chain(("NllLoss", ()), ("LogSoftmax", viewed), ("View", viewed), ("Convolution", given))


def test_a_view_in_place_of_a_transpose_is_an_error() -> None:
    (finding,) = check(sequence((32, 24, 17), (32, 17, 24)))
    assert finding.severity == "error"
    assert finding.message == (
        "The scores of shape (32, 24, 17) reach the cross-entropy at train.py:40 through a view as "
        "(32, 17, 24): 17 classes and 24 places are mixed up."
    )
    assert finding.fix == "Use `.transpose(1, 2)` on the scores in place of the view."


def test_pictures_flattened_without_a_permute_are_an_error() -> None:
    (finding,) = check(flat((8, 3, 16, 16), (2048, 3)))
    assert finding.fix.startswith("Use `.permute(0, 2, 3, 1).reshape(-1, 3)` on the scores")


@pytest.mark.parametrize(
    "healthy",
    [
        sequence((32, 24, 17), (32, 17, 24), by="Transpose"),
        sequence((32, 17, 17), (32, 17, 17)),
        flat((8, 16, 16, 3), (2048, 3)),
        flat((8, 3, 1, 1), (8, 3)),
        flat((16, 11, 7), (176, 7)),
        flat((8, 3, 16, 3), (384, 3)),
        chain(("MseLoss", ()), ("View", (2048, 3)), ("Convolution", (8, 3, 16, 16))),
    ],
    ids=["transposed", "square", "channels last", "one place", "tokens", "equal sizes", "no classes"],
)
def test_views_that_keep_the_order_are_silent(healthy: Record) -> None:
    assert not check(healthy)
