from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import carried, judged
from torch_debugger.records import CarriedGradient, Edit, Finding


def check(*records: CarriedGradient) -> list[Finding]:
    return judged(records, "missing-zero-grad")


def piled_up(steps: range) -> list[CarriedGradient]:
    """Every step adds a gradient of norm 1 to all before it."""
    return [carried(step, carried_norm=step - 1.0, norm=float(step)) for step in steps]


def test_gradients_carried_over_three_steps_are_an_error_with_the_edit_to_make() -> None:
    (finding,) = check(*piled_up(range(2, 5)))
    assert finding.severity == "error"
    assert finding.message == (
        "The gradients of `optimizer` have not been cleared since step 2: before backward() at train.py:40 "
        "that of `net.fc1.weight` still had norm 3, and step 4 used 4, old and new together."
    )
    assert finding.fix == ("Put `optimizer.zero_grad()` on a line of its own before backward() at train.py:40.")
    assert finding.edit == Edit("train.py", 40, "loss.backward()", "optimizer.zero_grad()\nloss.backward()")
    assert finding.evidence["carried_norm"] == 3.0
    assert finding.evidence["ratio"] == pytest.approx(0.75)
    assert (finding.first_step, finding.last_step) == (2, 4)


def test_the_users_own_optimizer_name_is_used() -> None:
    records = [dataclasses.replace(record, optimizer="opt_d") for record in piled_up(range(2, 5))]
    (finding,) = check(*records)
    assert finding.edit is not None and finding.edit.after.startswith("opt_d.zero_grad()\n")


def test_confidence_and_numbers_grow_with_the_streak() -> None:
    (short,) = check(*piled_up(range(2, 5)))
    (long,) = check(*piled_up(range(2, 30)))
    assert short.confidence < long.confidence <= 0.99
    assert long.last_step == 29 and long.evidence["streak"] == 28.0


def test_two_carried_steps_are_not_enough() -> None:
    assert not check(*piled_up(range(2, 4)))


def test_cleared_gradients_are_silent_however_many_backward_calls_a_step_has() -> None:
    assert not check(*[carried(step, 0.0, 1.0, cleared=True) for step in range(2, 50)])


def test_a_cleared_step_ends_the_streak_and_raises_the_bar() -> None:
    cleared = carried(4, 0.0, 1.0, cleared=True)
    assert not check(*piled_up(range(2, 4)), cleared, *piled_up(range(5, 12)))
    assert check(*piled_up(range(2, 4)), cleared, *piled_up(range(5, 16)))


def test_gradients_shrunk_on_purpose_between_steps_are_silent() -> None:
    assert not check(*[carried(step, carried_norm=0.9 * 2.0, norm=2.0) for step in range(2, 40)])


def test_gradients_that_are_not_finite_prove_nothing() -> None:
    assert not check(*[carried(step, float("nan"), float("nan")) for step in range(2, 40)])


def test_two_optimizers_are_counted_apart() -> None:
    records = []
    for step in range(2, 8):
        records.append(carried(step, 0.0, 1.0, cleared=True, optimizer="opt_g"))
        records.append(carried(step, step - 1.0, float(step), optimizer="opt_d"))
    (finding,) = check(*records)
    assert "`opt_d`" in finding.message


def test_without_the_line_there_is_no_edit() -> None:
    bare = [
        dataclasses.replace(record, place=dataclasses.replace(record.place, code=None))
        for record in piled_up(range(2, 6))
    ]
    (finding,) = check(*bare)
    assert finding.edit is None
