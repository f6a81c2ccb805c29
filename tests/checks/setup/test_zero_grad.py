from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from tests.fakes import carried, findings_of, judged, loss_site, losses, only, optimizer, place
from torch_debugger.records import AutogradNode, CarriedGradient, Edit, Finding, LossGraph, Record, StepCycle

missing = findings_of("missing-zero-grad")


def piled_up(steps: range) -> list[CarriedGradient]:
    """Every step adds a gradient of norm 1 to all before it."""
    return [carried(step, carried_norm=step - 1.0, norm=float(step)) for step in steps]


def test_gradients_carried_over_three_steps_are_an_error_with_the_edit_to_make() -> None:
    (finding,) = missing(*piled_up(range(2, 5)))
    assert finding.message == (
        "The gradients of `optimizer` have not been cleared since step 2: before backward() at train.py:40 "
        "that of `net.fc1.weight` still had norm 3, and step 4 used 4, old and new together."
    )
    assert finding.fix == ("Put `optimizer.zero_grad()` on a line of its own before backward() at train.py:40.")
    assert finding.edit == Edit("train.py", 40, "loss.backward()", "optimizer.zero_grad()\nloss.backward()")
    assert finding.evidence["carried_norm"] == 3.0
    assert finding.evidence["ratio"] == pytest.approx(0.75)
    assert (finding.severity, finding.first_step, finding.last_step) == ("error", 2, 4)


def test_names_and_lines_are_those_of_each_optimizer() -> None:
    # the users own optimizer name is used
    records = [dataclasses.replace(record, optimizer="opt_d") for record in piled_up(range(2, 5))]
    (finding,) = missing(*records)
    assert finding.edit is not None and finding.edit.after.startswith("opt_d.zero_grad()\n")
    records = []
    for step in range(2, 8):
        records.append(carried(step, 0.0, 1.0, cleared=True, optimizer="opt_g"))
        records.append(carried(step, step - 1.0, float(step), optimizer="opt_d"))
    assert "`opt_d`" in only(missing(*records)).message, "two optimizers are counted apart"
    bare = [
        dataclasses.replace(record, place=dataclasses.replace(record.place, code=None))
        for record in piled_up(range(2, 6))
    ]
    assert only(missing(*bare)).edit is None, "without the line there is no edit"


def test_confidence_and_numbers_grow_with_the_streak() -> None:
    (short,) = missing(*piled_up(range(2, 5)))
    (long,) = missing(*piled_up(range(2, 30)))
    assert short.confidence < long.confidence <= 0.99
    assert long.last_step == 29 and long.evidence["streak"] == 28.0


def test_gradients_that_are_cleared_or_prove_nothing_are_silent() -> None:
    assert not missing(*piled_up(range(2, 4))), "two carried steps are not enough"
    # cleared gradients however many backward calls a step has
    assert not missing(*[carried(step, 0.0, 1.0, cleared=True) for step in range(2, 50)])
    # gradients shrunk on purpose between steps
    assert not missing(*[carried(step, carried_norm=0.9 * 2.0, norm=2.0) for step in range(2, 40)])
    # gradients that are not finite prove nothing
    assert not missing(*[carried(step, float("nan"), float("nan")) for step in range(2, 40)])


def test_a_cleared_step_ends_the_streak_and_raises_the_bar() -> None:
    cleared = carried(4, 0.0, 1.0, cleared=True)
    assert not missing(*piled_up(range(2, 4)), cleared, *piled_up(range(5, 12)))
    assert missing(*piled_up(range(2, 4)), cleared, *piled_up(range(5, 16)))


BACKWARD = place(40, code="loss.backward()")
GROWN = [1.0, 3.0, 40.0, 900.0]


def cycles(backwards: Iterable[int] = (8, 8, 8)) -> list[StepCycle]:
    return [
        StepCycle(step, "optimizer", place(44), "nonzero", count, BACKWARD) for step, count in enumerate(backwards, 1)
    ]


def graph(op: str = "MseLoss", reduction: str = "mean") -> LossGraph:
    return LossGraph("loss", BACKWARD, 1.0, (AutogradNode(op, (), (), saved={"reduction": reduction}),), (), 1)


def unscaled(
    *records: Record, kind: str = "SGD", values: Iterable[float] = GROWN, end: LossGraph | None = None
) -> list[Finding]:
    everything = [optimizer(kind), loss_site(), end or graph(), *records, *losses(values)]
    return judged(everything, "accumulation-not-scaled")


def test_a_sum_of_gradients_that_blows_up() -> None:
    (finding,) = unscaled(*cycles())
    assert finding.message == (
        "`loss.backward()` at train.py:40 runs 8 times for each `optimizer.step()` and the loss is not "
        "divided by 8; it rose from 1 to 900."
    )
    assert finding.fix == "Write `(loss / 8).backward()` at train.py:40."
    assert (finding.severity, finding.where) == ("error", BACKWARD)


def test_accumulation_that_does_no_harm_is_silent() -> None:
    assert not unscaled(*cycles(), values=[1.0, 0.8, 0.5, 0.4])
    assert not unscaled(*cycles(), kind="Adam")
    assert not unscaled(*cycles(), end=graph("Div"))
    assert not unscaled(*cycles(), end=graph(reduction="sum"))
    assert not unscaled(*cycles((1, 1, 1)))
    assert not unscaled(*cycles((8, 4, 8)))
    assert not unscaled(*cycles((8, 8)))
    assert not unscaled(*cycles(), loss_site(60, "loss_d"))
