"""Batches without a loader: drawn from one seed, or cut from rows that are all the same."""

from __future__ import annotations

from tests.checks.data.looks import given, loader, target
from tests.fakes import judged, place, scalars
from torch_debugger.records import FixedDraw, Record

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
    [finding] = judged([draw("epoch")], "same-order-each-epoch")
    assert finding.message == (
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
    [finding] = judged(equal_rows([5] * 8, {"0": 4, "1": 4}), "identical-samples")
    assert finding.message == (
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
