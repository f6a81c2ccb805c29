"""What training and validation share, and what passes over a loader have in common."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import batch, loader
from tests.fakes import judged, place
from torch_debugger.checks.batches import is_evaluation
from torch_debugger.records import BatchLook, Finding, Record

TRAIN, VAL = loader(1), loader(2, "val_loader", shuffle=False)
LABELS = (0, 1, 2, 1, 0, 2, 1, 1)


def check(name: str, *records: Record) -> list[Finding]:
    return judged([TRAIN, VAL, *records], name)


def batches(first: int, count: int = 10, **others: int) -> list[BatchLook]:
    return [
        batch(range(first + 8 * index, first + 8 * index + 8), LABELS, index=index, **{"step": index + 1} | others)
        for index in range(count)
    ]


@pytest.mark.parametrize("name", ["val_loader", "testloader", "valLoader", "dev", "eval_dl", "validation_data"])
def test_names_for_evaluation(name: str) -> None:
    assert is_evaluation(name)


@pytest.mark.parametrize("name", ["loader", "interval", "device_loader", "train_eval_loader", "latest", "values"])
def test_other_names(name: str) -> None:
    assert not is_evaluation(name)


def test_validation_samples_that_are_trained_on() -> None:
    [finding] = check("train-validation-overlap", *batches(0), *batches(40, 3, loader=2, trained=False, step=11))
    assert finding.severity == "error"
    assert finding.message == (
        "16 of the 16 samples seen from `val_loader` at train.py:12 are in `train_loader` at train.py:11 as "
        "well: the model is validated on what it was trained on."
    )


def test_a_clean_split() -> None:
    assert not check("train-validation-overlap", *batches(0), *batches(900, 3, loader=2, trained=False, step=11))


def test_samples_that_repeat_themselves_prove_nothing() -> None:
    few = [batch([1, 2, 3, 4, 1, 2, 3, 4], step=step, index=step) for step in range(10)]
    same = [batch([1, 2, 3, 4] * 8, loader=2, trained=False, step=11, index=index) for index in range(4)]
    assert not check("train-validation-overlap", *few, *same)


def test_a_later_training_on_all_data() -> None:
    everything = loader(3, "full_loader")
    later = [everything, *batches(900, loader=3), *batches(900, 3, loader=2, trained=False, step=30)]
    first = batches(900, 3, loader=2, trained=False, step=11)
    assert not check("train-validation-overlap", *batches(0), *first, *later)


TWO_WORKERS = loader(7, "stream", workers=2, shuffle=None, length=None)


def test_workers_that_all_read_the_same() -> None:
    looks = [
        batch(range(index // 2 * 8, index // 2 * 8 + 8), index=index, step=index + 1, loader=7) for index in range(6)
    ]
    [finding] = check("samples-repeated-by-workers", TWO_WORKERS, *looks)
    assert finding.message == (
        "Each of the 2 workers of `stream` at train.py:17 delivers the same samples: the first 6 batches are 3 "
        "different ones, 2 times each."
    )


def test_workers_that_share_the_work() -> None:
    assert not check("samples-repeated-by-workers", TWO_WORKERS, *batches(0, loader=7))
    constant = [batch(range(8), index=index, loader=7) for index in range(8)]
    assert not check("samples-repeated-by-workers", TWO_WORKERS, *constant)


def test_shuffled_into_the_same_order() -> None:
    passes = [look for number in (1, 2, 3) for look in batches(0, iteration=number, step=10 * number)]
    [finding] = check("same-order-each-epoch", *passes)
    assert finding.severity == "warning"
    assert finding.message == (
        "`train_loader` at train.py:11 is shuffled, but 3 epochs in a row had the same batches in the same order."
    )
    assert "take `manual_seed` out of the loop" in finding.fix


def test_a_loader_made_anew_from_the_same_seed() -> None:
    made = place(30, code="return DataLoader(data, shuffle=True, generator=generator)")
    anew: list[Record] = []
    for number in (3, 4, 5):
        anew += [loader(number, "loader", made=made, base=9), *batches(0, loader=number, step=number)]
    [finding] = check("same-order-each-epoch", *anew)
    assert "once, before the epoch loop" in finding.fix


def test_other_orders_and_fixed_ones() -> None:
    passes = [look for number in (1, 2, 3) for look in batches(1000 * number, iteration=number)]
    assert not check("same-order-each-epoch", *passes)
    in_order = [look for number in (1, 2, 3) for look in batches(0, iteration=number, loader=2)]
    assert not check("same-order-each-epoch", *in_order)


def validation_passes(*firsts: int) -> list[BatchLook]:
    return [
        look
        for number, first in enumerate(firsts, 1)
        for look in batches(first, 2, iteration=number, loader=2, trained=False, step=10 * number)
    ]


def test_validation_samples_that_change() -> None:
    [finding] = check("augmentation-on-validation", *batches(0), *validation_passes(1000, 2000, 3000))
    assert finding.severity == "warning"
    assert finding.message == (
        "The samples of `val_loader` at train.py:12 are different in each of 3 validation passes, with the "
        "same labels in the same order: random augmentation is on."
    )


def test_validation_samples_that_stay() -> None:
    assert not check("augmentation-on-validation", *batches(0), *validation_passes(1000, 1000, 1000, 1000))
    assert not check("augmentation-on-validation", *batches(0), *validation_passes(1000, 2000))


def test_samples_that_are_all_the_same() -> None:
    looks = [batch([step] * 8, LABELS, step=step, index=step) for step in range(1, 5)]
    [finding] = check("identical-samples", *looks)
    assert finding.message == (
        "All 8 samples of a batch from `train_loader` at train.py:11 are the same although their targets "
        "differ, in 4 batches in a row since step 1."
    )


def test_samples_that_differ_or_need_not() -> None:
    assert not check("identical-samples", *batches(0))
    assert not check("identical-samples", *(batch([1] * 8, [1] * 8, step=step) for step in range(8)))
    assert not check("identical-samples", *(batch([1] * 8, LABELS, step=step, std=0.0) for step in range(8)))
