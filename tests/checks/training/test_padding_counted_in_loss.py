from __future__ import annotations

import pytest

from tests.checks.training.loss_terms import targets, tokens
from tests.fakes import judged
from torch_debugger.records import Finding, Record


def check(*records: Record) -> list[Finding]:
    return judged(records, "padding-counted-in-loss")


def looks(**others: object) -> list[Record]:
    return [targets(), *(tokens(step, **others) for step in (1, 2))]


def test_padding_that_the_embedding_knows_is_an_error() -> None:
    (finding,) = check(*looks(padding=0))
    assert finding.severity == "error"
    assert finding.message.startswith("40% of the targets of the loss at train.py:39 are the token 0")
    assert "padding_idx=0" in finding.message
    assert finding.fix == "Add `ignore_index=0` to the loss at train.py:39."


def test_a_token_that_looks_like_padding_is_a_warning() -> None:
    (finding,) = check(*looks())
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "others",
    [
        {"ignore_index": 0},
        {"weight": 0.0},
        {"elsewhere": 0.5},
        {"shortest": 6, "longest": 6},
        {"in_tails": 0.15},
        {"in_tails": 0.05, "padding": 0},
        {"ended": 0.1},
    ],
    ids=["ignored", "no weight", "a class like others", "one length", "little", "hardly any", "few rows"],
)
def test_other_rows_are_silent(others: dict[str, object]) -> None:
    assert not check(*looks(**others))


def test_a_loss_that_is_masked_by_hand_is_silent() -> None:
    assert not check(targets(reduction="none"), tokens(1, padding=0), tokens(2, padding=0))


def test_one_look_is_not_enough() -> None:
    assert not check(targets(), tokens(1, padding=0))
