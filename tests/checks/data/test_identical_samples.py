from __future__ import annotations

from tests.checks.data.looks import batch, given, loader, target
from tests.fakes import findings_of, judged, only, place, scalars
from torch_debugger.records import FixedDraw, Record

RESTARTED = loader(name="loader", shuffle=False, place=place(20, code="x, y = next(iter(loader))"), made=place(11))
FIRST = range(100, 108)
check = findings_of("constant-batch")


def restarts(count: int, **others: int) -> list[Record]:
    return [batch(FIRST, step=step, iteration=step, **others) for step in range(1, count + 1)]


def test_a_loader_started_anew_in_every_step() -> None:
    [finding] = check(RESTARTED, *restarts(6))
    assert finding.severity == "error"
    assert finding.message == (
        "Every step since step 1 trains on the first batch of `loader`: the line at train.py:20 starts the "
        "loader anew each time, and the other 9 batches are never used."
    )
    assert finding.edit is not None and finding.edit.after == "for x, y in loader:"


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


def test_batches_that_need_not_differ_are_silent() -> None:
    looks = [batch(range(step, step + 8), step=step, iteration=step) for step in range(1, 20)]
    assert not check(RESTARTED, *looks), "batches that differ"
    assert not check(loader(length=1), *restarts(20)), "a loader with one batch"
    looks: list[Record] = []
    for step in range(1, 20):
        fresh = range(1000 * step, 1000 * step + 8)
        looks += [given(step, fresh), batch(fresh, step=step, iteration=step)]
        looks.append(batch(FIRST, step=step, iteration=step, loader=2))
    assert not check(loader(1), loader(2, "val_loader"), *looks), "a validation batch beside the training"
    looks = [given(step, FIRST) for step in range(1, 40)]
    assert not check(loader(), batch(FIRST), *looks), "one batch fitted on purpose"


def test_looks_an_epoch_apart_meet_the_same_batch_of_a_fixed_order() -> None:
    def met(steps: range) -> list[Record]:
        looks: list[Record] = [batch(FIRST, trained=False)]
        for step in steps:
            looks += [given(step, FIRST), batch(range(step * 10, step * 10 + 8), step=step, index=step)]
        return [loader(), *looks, given(steps.stop, FIRST)]

    assert not check(*met(range(1, 80, 10)))
    assert check(*met(range(1, 9)))


SEED = place(7, code="rng = torch.Generator().manual_seed(0)")


def draw(each: str) -> FixedDraw:
    return FixedDraw("get_batch", each, SEED, place(30), 1)


def test_a_function_that_seeds_itself_gives_one_batch() -> None:
    inputs = [given(step, samples=range(8)) for step in (1, 2, 3)]
    [finding] = judged([draw("step"), *inputs], "constant-batch")
    assert finding.message == (
        "`get_batch`, which every step calls at train.py:30, seeds its generator with the same number each "
        "time at train.py:7: all 3 batches that were looked at are the same."
    )
    assert finding.where == SEED


def test_full_batches_and_batches_that_differ_are_silent() -> None:
    same = [given(step, samples=range(8)) for step in (1, 2, 3)]
    other = [given(step, samples=range(step, step + 8)) for step in (1, 2, 3)]
    assert not judged(same, "constant-batch")
    assert not judged([draw("step"), *other], "constant-batch")


def test_an_order_drawn_from_one_seed() -> None:
    assert only(judged([draw("epoch")], "same-order-each-epoch")).message == (
        "`get_batch`, which every epoch calls at train.py:30, seeds its generator with the same number each "
        "time at train.py:7: all epochs have the same batches in the same order."
    )
    assert not judged([draw("step")], "same-order-each-epoch")


def equal_rows(digests: list[int], labels: dict[str, int], tensors: int = 1) -> list[Record]:
    looks: list[Record] = []
    for step in (1, 2, 3):
        looks += [given(step, samples=digests, tensors=tensors), target(step, labels=labels)]
    return [*looks, scalars(20)]


def test_rows_that_are_one_row_many_times() -> None:
    assert only(judged(equal_rows([5] * 8, {"0": 4, "1": 4}), "identical-samples")).message == (
        "All 8 samples that `net` is given at train.py:24 are the same although their labels differ, on 3 "
        "looks in a row since step 1."
    )


def test_a_try_of_a_few_steps_and_labels_for_each_token_are_silent() -> None:
    assert not judged(equal_rows([5] * 8, {"0": 4, "1": 4})[:-1], "identical-samples")
    tokens = [target(step, shape=(88,), labels={"0": 44, "1": 44}) for step in (1, 2, 3)]
    inputs = [given(step, samples=[5] * 8) for step in (1, 2, 3)]
    both = [record for pair in zip(inputs, tokens, strict=True) for record in pair]
    assert not judged([*both, scalars(20)], "identical-samples")


def test_rows_that_may_be_equal() -> None:
    assert not judged(equal_rows([5] * 8, {"1": 8}), "identical-samples")
    assert not judged(equal_rows([5] * 7 + [6], {"0": 4, "1": 4}), "identical-samples")
    assert not judged(equal_rows([5] * 8, {"0": 4, "1": 4}, tensors=2), "identical-samples")
    assert not judged([loader(), *equal_rows([5] * 8, {"0": 4, "1": 4})], "identical-samples")
