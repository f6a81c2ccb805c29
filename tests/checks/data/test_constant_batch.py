"""One batch for all steps, and the runs that only look like it."""

from __future__ import annotations

from tests.checks.data.looks import batch, given, loader
from tests.fakes import judged, place
from torch_debugger.records import Finding, Record

RESTARTED = loader(name="loader", shuffle=False, place=place(20, code="x, y = next(iter(loader))"), made=place(11))
FIRST = range(100, 108)


def check(*records: Record) -> list[Finding]:
    return judged(records, "constant-batch")


def restarts(count: int, **others: int) -> list[Record]:
    return [batch(FIRST, step=step, iteration=step, **others) for step in range(1, count + 1)]


def test_a_loader_started_anew_in_every_step() -> None:
    [finding] = check(RESTARTED, *restarts(6))
    assert finding.severity == "error"
    assert finding.message == (
        "Every step since step 1 trains on the first batch of `loader`: the line at train.py:20 starts the "
        "loader anew each time, and the other 9 batches are never used."
    )
    assert finding.edit is not None
    assert finding.edit.after == "for x, y in loader:"


def test_a_batch_of_an_earlier_line_in_a_loop() -> None:
    looks: list[Record] = []
    for step in range(1, 8):
        looks += [given(step, FIRST), batch(range(step * 10, step * 10 + 8), step=step, index=step)]
    [finding] = check(loader(), batch(FIRST, trained=False), *looks, given(8, FIRST))
    assert finding.where.line == 24
    assert finding.message == (
        "`net` at train.py:24 is given the same batch since step 1, while `train_loader` has delivered 6 others."
    )
    assert finding.fix == (
        "Give `net` at train.py:24 `x, y` of the line at train.py:20 in place of the older one it gets now."
    )


def test_batches_that_differ() -> None:
    looks = [batch(range(step, step + 8), step=step, iteration=step) for step in range(1, 20)]
    assert not check(RESTARTED, *looks)


def test_a_loader_with_one_batch() -> None:
    assert not check(loader(length=1), *restarts(20))


def test_a_validation_batch_beside_the_training() -> None:
    looks: list[Record] = []
    for step in range(1, 20):
        fresh = range(1000 * step, 1000 * step + 8)
        looks += [given(step, fresh), batch(fresh, step=step, iteration=step)]
        looks.append(batch(FIRST, step=step, iteration=step, loader=2))
    assert not check(loader(1), loader(2, "val_loader"), *looks)


def test_one_batch_fitted_on_purpose() -> None:
    looks = [given(step, FIRST) for step in range(1, 40)]
    assert not check(loader(), batch(FIRST), *looks)


def test_looks_an_epoch_apart_meet_the_same_batch_of_a_fixed_order() -> None:
    def met(steps: range) -> list[Record]:
        looks: list[Record] = [batch(FIRST, trained=False)]
        for step in steps:
            looks += [given(step, FIRST), batch(range(step * 10, step * 10 + 8), step=step, index=step)]
        return [loader(), *looks, given(steps.stop, FIRST)]

    assert not check(*met(range(1, 80, 10)))
    assert check(*met(range(1, 9)))
