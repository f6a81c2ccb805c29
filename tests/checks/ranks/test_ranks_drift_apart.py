"""ranks-drift-apart: weights that should be equal, and what differed first."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.ranks.digests import BY_HAND, CALL, DDP, MADE, compared, digest
from torch_debugger.records import RankDigest, Record

NAME = "ranks-drift-apart"


def apart(number: int, first: int = 1, **others: object) -> list[Record]:
    """Three steps with weights that no other rank has."""
    values: dict[str, object] = {"weights": (number, 2000), "norms": (2.5 + number, 0.5), **others}
    return [digest(step, **values) for step in range(first, first + 3)]


def test_the_words_where_weights_differ_from_the_start() -> None:
    (finding,) = compared(NAME, apart(0, average=BY_HAND), apart(1, average=BY_HAND))
    assert finding.message == (
        "The weights of ranks 0-1 should be equal and are not, since step 1: at step 3 the norm of "
        "`model.fc.weight` is 2.5 on rank 0 and 3.5 on rank 1. They differed before the first update: every "
        "rank has made weights of its own, and averaging gradients does not make them one."
    )
    assert (finding.severity, finding.where, finding.first_step) == ("error", CALL, 1)
    assert "dist.broadcast(p.data, 0)" in finding.fix
    assert finding.evidence["different_parameters"] == "1 of 2"


def test_ddp_gives_all_the_same_weights_so_somebody_changed_them() -> None:
    (finding,) = compared(NAME, apart(0), apart(1))
    assert "something has changed them since, on some ranks only" in finding.message
    assert finding.where == MADE


def test_updates_that_one_rank_leaves_out() -> None:
    equal = [digest(1)]
    skipped = [
        dataclasses.replace(each, backwards=each.step + 1) for each in apart(1, 2) if isinstance(each, RankDigest)
    ]
    (finding,) = compared(NAME, [*equal, *apart(0, 2)], [*equal, *skipped])
    assert "Rank 1 has left out updates: 3 backward passes for its first 1 updates" in finding.message
    assert "isnan" in finding.fix


def test_other_learning_rates() -> None:
    equal, other = [digest(1)], [digest(1, rates=(0.05,))]
    (finding,) = compared(NAME, [*equal, *apart(0, 2)], [*other, *apart(1, 2, rates=(0.05,))])
    assert "Their learning rates differ at step 1: 0.1 on rank 0, 0.05 on rank 1." in finding.message
    assert "ReduceLROnPlateau" in finding.fix


def test_a_parameter_that_is_not_averaged() -> None:
    first, other = digest(1, gradients=(3001, 1)), digest(1, gradients=(3001, 2))
    (finding,) = compared(NAME, [first, *apart(0, 2)], [other, *apart(1, 2)])
    assert "The gradients of `model.fc.bias` are not averaged, those of the others are." in finding.message


def test_nothing_else_differs() -> None:
    equal = [digest(1)]
    (finding,) = compared(NAME, [*equal, *apart(0, 2)], [*equal, *apart(1, 2)])
    assert "Gradients and learning rates were equal" in finding.message
    assert finding.first_step == 2


def test_too_few_steps_and_weights_that_come_together_again() -> None:
    assert compared(NAME, apart(0)[:2], apart(1)[:2]) == []
    healed = [digest(3)]
    assert compared(NAME, [*apart(0)[:2], *healed], [*apart(1)[:2], *healed]) == []


@pytest.mark.parametrize(
    "average",
    [None, *(dataclasses.replace(DDP, **odd) for odd in ({"hooked": True}, {"joins": True}, {"ranks": 3}))],
)
def test_where_nothing_makes_these_ranks_one(average: object) -> None:
    assert compared(NAME, apart(0, average=average), apart(1, average=average)) == []


def test_what_is_not_finite_is_another_matter() -> None:
    assert compared(NAME, apart(0, norms=(math.nan, 0.5)), apart(1)) == []


def test_other_parameters_are_another_model() -> None:
    assert compared(NAME, apart(0), apart(1, names=("model.fc.weight", "model.out.bias"))) == []
    assert compared(NAME, apart(0), apart(1, shapes=("(8, 8)", "(4,)"))) == []
