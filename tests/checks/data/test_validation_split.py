"""What validation shares with training, what it never saw, and what its passes show."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.data.looks import batch, loader, target
from tests.fakes import judged, only, place
from torch_debugger.checks.batches import is_evaluation
from torch_debugger.records import BatchLook, Finding, Place, Record

TRAIN, VAL = loader(1), loader(2, "val_loader", shuffle=False)
LABELS = (0, 1, 2, 1, 0, 2, 1, 1)


def check_passes(name: str, *records: Record) -> list[Finding]:
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
    [finding] = check_passes("train-validation-overlap", *batches(0), *batches(40, 3, loader=2, trained=False, step=11))
    assert finding.severity == "error"
    assert finding.message == (
        "16 of the 16 samples seen from `val_loader` at train.py:12 are in `train_loader` at train.py:11 as "
        "well: the model is validated on what it was trained on."
    )


def test_splits_that_are_clean_or_prove_nothing_are_silent() -> None:
    # a clean split
    assert not check_passes("train-validation-overlap", *batches(0), *batches(900, 3, loader=2, trained=False, step=11))
    few = [batch([1, 2, 3, 4, 1, 2, 3, 4], step=step, index=step) for step in range(10)]
    same = [batch([1, 2, 3, 4] * 8, loader=2, trained=False, step=11, index=index) for index in range(4)]
    assert not check_passes("train-validation-overlap", *few, *same), "samples that repeat themselves prove nothing"
    everything = loader(3, "full_loader")
    later = [everything, *batches(900, loader=3), *batches(900, 3, loader=2, trained=False, step=30)]
    first = batches(900, 3, loader=2, trained=False, step=11)
    assert not check_passes("train-validation-overlap", *batches(0), *first, *later), "a later training on all data"


TWO_WORKERS = loader(7, "stream", workers=2, shuffle=None, length=None)


def test_workers_that_all_read_the_same() -> None:
    looks = [
        batch(range(index // 2 * 8, index // 2 * 8 + 8), index=index, step=index + 1, loader=7) for index in range(6)
    ]
    assert only(check_passes("samples-repeated-by-workers", TWO_WORKERS, *looks)).message == (
        "Each of the 2 workers of `stream` at train.py:17 delivers the same samples: the first 6 batches are 3 "
        "different ones, 2 times each."
    )


def test_workers_that_share_the_work() -> None:
    assert not check_passes("samples-repeated-by-workers", TWO_WORKERS, *batches(0, loader=7))
    constant = [batch(range(8), index=index, loader=7) for index in range(8)]
    assert not check_passes("samples-repeated-by-workers", TWO_WORKERS, *constant)


def test_shuffled_into_the_same_order() -> None:
    passes = [look for number in (1, 2, 3) for look in batches(0, iteration=number, step=10 * number)]
    [finding] = check_passes("same-order-each-epoch", *passes)
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
    assert "once, before the epoch loop" in only(check_passes("same-order-each-epoch", *anew)).fix


def test_other_orders_and_fixed_ones() -> None:
    passes = [look for number in (1, 2, 3) for look in batches(1000 * number, iteration=number)]
    assert not check_passes("same-order-each-epoch", *passes)
    in_order = [look for number in (1, 2, 3) for look in batches(0, iteration=number, loader=2)]
    assert not check_passes("same-order-each-epoch", *in_order)


def validation_passes(*firsts: int) -> list[BatchLook]:
    return [
        look
        for number, first in enumerate(firsts, 1)
        for look in batches(first, 2, iteration=number, loader=2, trained=False, step=10 * number)
    ]


def test_validation_samples_that_change() -> None:
    [finding] = check_passes("augmentation-on-validation", *batches(0), *validation_passes(1000, 2000, 3000))
    assert finding.severity == "warning"
    assert finding.message == (
        "The samples of `val_loader` at train.py:12 are different in each of 3 validation passes, with the "
        "same labels in the same order: random augmentation is on."
    )


def test_validation_samples_that_stay() -> None:
    assert not check_passes("augmentation-on-validation", *batches(0), *validation_passes(1000, 1000, 1000, 1000))
    assert not check_passes("augmentation-on-validation", *batches(0), *validation_passes(1000, 2000))


def test_samples_that_are_all_the_same() -> None:
    looks = [batch([step] * 8, LABELS, step=step, index=step) for step in range(1, 5)]
    assert only(check_passes("identical-samples", *looks)).message == (
        "All 8 samples of a batch from `train_loader` at train.py:11 are the same although their targets "
        "differ, in 4 batches in a row since step 1."
    )


def test_samples_that_differ_or_need_not() -> None:
    assert not check_passes("identical-samples", *batches(0))
    assert not check_passes("identical-samples", *(batch([1] * 8, [1] * 8, step=step) for step in range(8)))
    assert not check_passes("identical-samples", *(batch([1] * 8, LABELS, step=step, std=0.0) for step in range(8)))


DATA, SPLIT = place(3, code="x = load()"), place(4, code="train, val = split(x)")


def varied(look: BatchLook) -> BatchLook:
    tensors = tuple(dataclasses.replace(tensor, varied=True) for tensor in look.tensors)
    return dataclasses.replace(look, tensors=tensors)


def found(train: tuple[Place, ...], val: tuple[Place, ...], count: int = 20) -> list[Finding]:
    """Each sample of training comes twice, and is in validation as well."""
    facts = [loader(upstream=train), loader(2, "val_loader", shuffle=False, upstream=val)]
    trained = [varied(batch([n, n] * 4, step=n + 1, index=n)) for n in range(count)]
    other = [varied(batch(range(count), loader=2, trained=False, step=30))]
    return judged([*facts, *trained, *other], "train-validation-overlap")


def test_rows_that_were_repeated_before_the_split() -> None:
    [finding] = found((SPLIT, DATA), (SPLIT, DATA))
    assert finding.where == SPLIT
    assert finding.fix == (
        "Split before samples are repeated, and repeat only those of `train_loader`; `val_loader` is cut off "
        "at train.py:4."
    )
    assert not found((SPLIT, DATA), (SPLIT, DATA), count=8)


def test_the_line_where_the_validation_data_parts_from_the_other() -> None:
    own, other = place(6, code="val = x[:100]"), place(5, code="train = x[:900]")
    assert found((other, DATA), (own, DATA))[0].where == own
    assert found((DATA,), (own, DATA))[0].where.line == 11  # training is on all of it
    assert found((), ())[0].where.line == 12


KNOWN = (0, 1, 2, 3) * 2


def check_unseen(
    unseen: tuple[int, ...], *, batches: int = 10, classifies: bool = True, name: str = "val_loader"
) -> list[Finding]:
    looks: list[Record] = [loader(1), loader(2, name, shuffle=False)]
    looks += [target(1)] if classifies else []
    looks += [batch(range(8), KNOWN, step=index + 1, index=index) for index in range(batches)]
    looks += [batch(range(8), unseen, step=11, index=index, loader=2, trained=False) for index in range(3)]
    return judged(looks, "validation-classes-unseen")


def test_data_cut_in_two_without_shuffling() -> None:
    [finding] = check_unseen((4,) * 8)
    assert finding.severity == "warning"
    assert finding.message == (
        "16 of the 16 labels seen from `val_loader` at train.py:12 are classes that `train_loader` at "
        "train.py:11 never has: 4."
    )


def test_silence() -> None:
    assert not check_unseen(KNOWN)
    assert not check_unseen((4, *KNOWN[1:]))
    assert not check_unseen((4,) * 8, batches=6)  # not yet a whole pass of training
    assert not check_unseen((4,) * 8, classifies=False)
    assert not check_unseen((4,) * 8, name="probe_loader")
