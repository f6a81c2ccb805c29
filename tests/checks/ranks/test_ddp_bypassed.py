"""ddp-bypassed: gradients that differ although there is a DistributedDataParallel."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.digests import BY_HAND, CALL, DDP, call, compared, digest
from torch_debugger.records import Record

NAME = "ddp-bypassed"


def rank(number: int, role: str = "inner", steps: int = 3, **others: object) -> list[Record]:
    return [
        digest(step, gradients=(number, 4000), calls=(call(number, role),), **others) for step in range(1, steps + 1)
    ]


def test_the_words_where_the_module_inside_is_called() -> None:
    (finding,) = compared(NAME, rank(0), rank(1))
    assert finding.message == (
        "`model` is a DistributedDataParallel at train.py:12, but the module inside of it is called at "
        "train.py:20: the gradients of ranks 0-1 differed at 3 steps that were compared."
    )
    assert (finding.severity, finding.where, finding.first_step, finding.last_step) == ("error", CALL, 1, 3)
    assert finding.fix == "Call `model(...)` at train.py:20."
    assert finding.edit is not None
    assert finding.edit.after == "loss = criterion(model(x), y)"
    assert finding.evidence["different_gradients"] == "1 of 2"


def test_the_words_where_nothing_is_averaged_for_no_sync() -> None:
    paused = dataclasses.replace(DDP, paused=True)
    (finding,) = compared(NAME, rank(0, "wrapper", average=paused), rank(1, "wrapper", average=paused))
    assert finding.message.startswith("Every backward of `model` at train.py:20 is under `no_sync()`")
    assert "no_sync" in finding.fix
    assert finding.edit is None


def test_without_the_words_in_the_line_there_is_no_edit() -> None:
    unnamed = dataclasses.replace(DDP, name="")
    (finding,) = compared(NAME, rank(0, average=unnamed), rank(1, average=unnamed))
    assert finding.edit is not None  # called `model` for want of a name, and the line agrees
    other = dataclasses.replace(DDP, name="wrapped")
    (finding,) = compared(NAME, rank(0, average=other), rank(1, average=other))
    assert finding.edit is None


def test_too_few_steps() -> None:
    assert compared(NAME, rank(0, steps=2), rank(1, steps=2)) == []


def test_equal_gradients_are_no_fault() -> None:
    """The user averages them after a call of the module inside."""
    assert compared(NAME, rank(0), rank(0)) == []


@pytest.mark.parametrize("role", ["wrapper", "other"])
def test_where_the_wrapper_was_called_or_nobody_knows(role: str) -> None:
    assert compared(NAME, rank(0, role), rank(1, role)) == []


def test_one_rank_alone_goes_another_way() -> None:
    assert compared(NAME, rank(0), rank(1, "wrapper")) == []


def test_a_step_with_equal_gradients_in_between_starts_anew() -> None:
    healed = [digest(3)]
    assert compared(NAME, [*rank(0, steps=2), *healed], [*rank(1, steps=2), *healed]) == []


def test_other_ways_to_average_and_hooks() -> None:
    for average in (BY_HAND, dataclasses.replace(DDP, hooked=True), None):
        assert compared(NAME, rank(0, average=average), rank(1, average=average)) == []
