"""How long a training may stand still."""

from __future__ import annotations

import pytest

from torch_debugger.ranks.process_activity import Limits, Pace
from torch_debugger.records.ranks import CALL, COLLECTIVE, LOCK, LOOP, READ


def pace(*gaps: float, **limits: float) -> Pace:
    made = Pace(Limits(**limits))
    made.went_on(99.0)  # setting up is no pause of the training
    for gap in gaps:
        made.went_on(gap)
    return made


def test_quick_steps_are_given_the_floor() -> None:
    assert pace(0.1, 0.2).allowed_s(LOCK) == 40


def test_slow_steps_are_given_three_times_the_slowest() -> None:
    assert pace(30.0, 10.0).allowed_s(COLLECTIVE) == 90


def test_never_more_than_the_ceiling() -> None:
    assert pace(900.0).allowed_s(LOCK) == 600


def test_a_floor_above_the_ceiling_holds() -> None:
    assert pace(900.0, floor_s=700.0).allowed_s(LOCK) == 700


@pytest.mark.parametrize(("kind", "seconds"), [(LOCK, 40), (COLLECTIVE, 40), (READ, 180), (CALL, 180), (LOOP, 600)])
def test_before_the_first_step_a_download_may_take_its_time(kind: str, seconds: float) -> None:
    assert Pace(Limits()).allowed_s(kind) == seconds


def test_a_loop_must_be_ten_times_as_long_as_any_batch() -> None:
    slow = pace(1.0, 90.0)  # a validation, a first step: no batch took as long
    assert slow.allowed_s(LOOP) == 40
    slow.fetched(20.0, is_first=False)
    slow.fetched(3.0, is_first=False)
    slow.fetched(30.0, is_first=True)
    assert slow.allowed_s(LOOP) == 200
    assert slow.allowed_s(LOOP, is_first=True) == 300
    few = Pace(Limits())
    few.went_on(1.0, steps=2)
    assert few.allowed_s(LOOP) == 600  # too few to know
    few.went_on(1.0, steps=30)
    assert few.allowed_s(LOOP) == 40


@pytest.mark.parametrize("kind", [LOCK, READ, LOOP])
def test_a_timeout_alone_holds(kind: str) -> None:
    assert pace(30.0, timeout_s=5.0).allowed_s(kind) == 5
    assert Pace(Limits(timeout_s=5.0)).allowed_s(kind) == 5
