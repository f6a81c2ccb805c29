from __future__ import annotations

import dataclasses

from tests.fakes import end, findings_of, place
from torch_debugger.records import LoaderFact, SchedulerFact, SchedulerLook

CALL = place(40, code="scheduler.step()")
UPDATE = place(38, code="optimizer.step()")


def made(kind: str = "StepLR", **settings: float) -> SchedulerFact:
    return SchedulerFact(kind, "optimizer", place(20), 1, 1, settings)


def look(updates: int, count: int, rate: float = 0.1, **others: object) -> SchedulerLook:
    before = SchedulerLook(updates + 1, 1, "scheduler", "optimizer", count, updates, rate, (CALL,), UPDATE)
    return dataclasses.replace(before, **others)  # type: ignore[arg-type]


def loader(length: int) -> LoaderFact:
    return LoaderFact("TensorDataset", length, 32, 0, True, place(30), 1)


never = findings_of("scheduler-never-stepped")


def idle(*updates: int, **others: object) -> list[SchedulerLook]:
    return [look(each, 0, **{"calls": (), **others}) for each in updates]


def test_a_scheduler_that_nobody_steps() -> None:
    (finding,) = never(made(), *idle(0, 50, 118), end())
    assert finding.message == (
        "`scheduler` (StepLR at train.py:20) was never stepped: the learning rate of `optimizer` was 0.1 in "
        "all 120 steps."
    )
    assert finding.fix == (
        "Call `scheduler.step()` once an epoch, below the loop over the batches that has `optimizer.step()` at "
        "train.py:38; right after it if the schedule counts batches."
    )
    assert (finding.severity, finding.where) == ("warning", place(20))


def test_a_schedule_of_batches_belongs_beside_the_optimizer() -> None:
    (finding,) = never(made("OneCycleLR", total_steps=120.0), *idle(0, 118), end())
    assert finding.fix == "Call `scheduler.step()` right after `optimizer.step()` at train.py:38."


def test_a_scheduler_that_may_be_used_is_silent() -> None:
    # a scheduler is not called idle too early
    assert not never(made(), *idle(0, 5), end(steps=6))
    assert not never(made(), *idle(0, 118), end("crashed"))
    assert not never(made(), *idle(0, 118, calls=(CALL,)), end())
    assert not never(made(), *idle(0, 118, others_called=True), end())
    assert not never(made(), *idle(0, 118, update=place(50, code="trainer.fit(model)")), end())
    assert not never(made(), *idle(0, 50), look(118, 0, rate=0.05, calls=()), end())
    # one stepped scheduler speaks for its optimizer
    second = dataclasses.replace(made("CosineAnnealingLR"), number=2)
    assert not never(made(), second, *idle(0, 118), look(118, 3, calls=(), number=2), end())


per_batch = findings_of("scheduler-stepped-per-batch")


def test_a_rate_that_is_used_up() -> None:
    rates = [look(step, step, 0.1 * 0.5**step) for step in range(0, 60, 2)]
    (finding,) = per_batch(made(), *rates)
    assert finding.severity == "error"
    assert finding.message == (
        "`scheduler` (StepLR) is stepped after every update at train.py:40: the learning rate of `optimizer` "
        "fell from 0.1 to 6.1e-06 by step 15 and is 5.8e-12 at step 35."
    )
    assert finding.fix == (
        "Move `scheduler.step()` at train.py:40 out of the loop over the batches, so that it runs once an epoch."
    )


def test_rates_that_end_low_on_purpose_are_silent() -> None:
    # a rate that only ends at zero
    assert not per_batch(made(), *[look(step, step, 0.1 * (1 - step / 300) ** 4) for step in range(300)])
    # a schedule of epochs may end low
    assert not per_batch(made(), *[look(step, step // 10, 0.1 * 0.5 ** (step // 10)) for step in range(500)])


before = findings_of("scheduler-before-optimizer")


def test_a_scheduler_that_comes_first() -> None:
    early = place(33, code="scheduler.step()")
    looks = [look(updates, updates + 1, 0.05, calls=(early,)) for updates in range(3)]
    (finding,) = before(made(), *looks)
    assert finding.message == (
        "`scheduler.step()` at train.py:33 comes before `optimizer.step()` at train.py:38: the first update "
        "already used 0.05, the second learning rate of StepLR."
    )
    assert finding.fix == "Move `scheduler.step()` at train.py:33 below `optimizer.step()` at train.py:38."
    (finding,) = before(made(), *[look(updates, 1, 0.05, calls=(early,)) for updates in range(3)])
    assert finding.fix.endswith("at train.py:38, after the loop over the batches.")


def test_the_right_order_and_a_resumed_run_are_silent() -> None:
    early = place(33, code="scheduler.step()")
    assert not before(made(), *[look(updates, updates) for updates in range(5)])
    assert not before(made(), *[look(updates, updates + 1) for updates in range(5)])
    assert not before(made(), *[look(updates, updates + 4, calls=(early,)) for updates in range(5)])
    assert not before(made(), *[look(updates, updates + 1, calls=(early, CALL)) for updates in range(5)])


total = findings_of("scheduler-total-mismatch")


def test_a_length_in_batches_stepped_by_accumulated_updates() -> None:
    accumulated = look(118, 118, 0.004, backwards=8 * 118)
    (finding,) = total(made("OneCycleLR", total_steps=960.0), loader(96), accumulated, end())
    assert finding.message == (
        "`scheduler` (OneCycleLR at train.py:20) is made for 960 steps, the number of batches of this run, but is "
        "stepped once for 8 of them at train.py:40, with the optimizer: the learning rate got no further than 0.004."
    )
    assert finding.fix == ("Divide the number of steps at train.py:20 by 8, the batches of one update: 120 in all.")
    assert finding.where == place(20)
    assert not total(made("OneCycleLR", total_steps=120.0), loader(96), accumulated, end())
    assert not total(made("OneCycleLR", total_steps=960.0), loader(96), look(118, 118, backwards=118), end())


def test_a_length_in_batches_stepped_by_epochs() -> None:
    (finding,) = total(made("OneCycleLR", total_steps=120.0), loader(12), look(119, 10, 0.004), end())
    assert finding.message == (
        "`scheduler` (OneCycleLR at train.py:20) is made for 120 steps, the number of updates of this run, but was "
        "stepped only 10 times at train.py:40, about once an epoch: the learning rate got no further than 0.004."
    )
    assert finding.fix == (
        "Call `scheduler.step()` at train.py:40 inside the loop over the batches, after `optimizer.step()` at "
        "train.py:38."
    )


def test_a_length_in_epochs_stepped_by_batches() -> None:
    (finding,) = total(made("CosineAnnealingLR", T_max=10.0), loader(12), look(119, 119), end())
    assert finding.message == (
        "`scheduler` (CosineAnnealingLR at train.py:20) is made for 10 steps, the number of epochs, but is "
        "stepped after every batch at train.py:40: the learning rate went down and up again 6 times."
    )
    assert finding.fix == (
        "Move `scheduler.step()` at train.py:40 out of the loop over the batches; or make it with "
        "`T_max=120`, the number of batches of the run."
    )


def test_lengths_that_fit_and_lengths_that_fit_nothing_are_silent() -> None:
    cosine = made("CosineAnnealingLR", T_max=10.0)
    assert not total(made("OneCycleLR", total_steps=120.0), loader(12), look(119, 119), end())
    assert not total(cosine, loader(12), look(119, 10), end())
    assert not total(made("CosineAnnealingLR", T_max=50.0), loader(12), look(119, 10), end())
    assert not total(made("CosineAnnealingLR", T_max=25.0), loader(12), look(119, 119), end())
    assert not total(made("OneCycleLR", total_steps=120.0), loader(12), look(119, 10), end("stopped"))
