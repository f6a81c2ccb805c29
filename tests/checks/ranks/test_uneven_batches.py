"""uneven-batches: loaders of different lengths, gone through to their ends."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.digests import DDP, compared, digest
from tests.fakes import place
from torch_debugger.records import LoaderFact, PassFact, Record

NAME = "uneven-batches"
LOADER = LoaderFact("Share", 20, 20, 0, True, place(22), 1, number=1, names=("loader",), made=place(19))


def rank(length: int, **others: object) -> list[Record]:
    fact = dataclasses.replace(LOADER, length=length)
    values = {"step": length, "batches": length, "updates": length, "backwards": length, **others}
    whole = PassFact(
        loader=1,
        place=place(22),
        calls=(),
        shuffled=True,
        age=0,
        repeats=False,
        **values,  # type: ignore[arg-type]
    )
    return [fact, digest(1), whole]


def test_the_words() -> None:
    (finding,) = compared(NAME, rank(20), rank(26))
    assert finding.message == (
        "`loader` at train.py:19 has 20 batches on rank 0 and 26 on rank 1, and each of them goes through all "
        "of its own."
    )
    assert (finding.severity, finding.where.line, finding.last_step) == ("error", 19, 20)
    assert "model.join()" in finding.fix
    assert finding.evidence == {"batches_of_rank_0": 20.0, "batches_of_rank_1": 26.0}


def test_equal_lengths() -> None:
    assert compared(NAME, rank(20), rank(20)) == []


@pytest.mark.parametrize("others", [{"batches": 20}, {"updates": 0}, {"backwards": 0}])
def test_a_rank_that_does_not_train_on_all_of_its_batches(others: dict[str, object]) -> None:
    assert compared(NAME, rank(20), rank(26, **others)) == []
    if "batches" not in others:
        assert compared(NAME, rank(20, **others), rank(26)) == []


def test_a_pass_that_is_not_complete_on_one_of_them() -> None:
    assert compared(NAME, rank(20), rank(26)[:2]) == []
    assert compared(NAME, rank(20)[:2], rank(26)) == []


def test_within_join_and_where_nothing_is_averaged() -> None:
    joined = dataclasses.replace(DDP, joins=True)
    for average in (joined, None, dataclasses.replace(DDP, ranks=3)):
        ranks = [[fact, digest(1, average=average), whole] for fact, _, whole in (rank(20), rank(26))]
        assert compared(NAME, *ranks) == []


def test_another_loader_on_another_rank() -> None:
    fact, *rest = rank(26)
    assert isinstance(fact, LoaderFact)
    assert compared(NAME, rank(20), [dataclasses.replace(fact, made=place(40)), *rest]) == []


def test_a_loader_without_a_length() -> None:
    fact, *rest = rank(26)
    assert isinstance(fact, LoaderFact)
    assert compared(NAME, rank(20), [dataclasses.replace(fact, length=None), *rest]) == []
