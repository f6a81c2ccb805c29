"""Validation samples among those of training: rows repeated before the split, and the line that cuts them."""

from __future__ import annotations

import dataclasses

from tests.checks.data.looks import batch, loader
from tests.fakes import judged, place
from torch_debugger.records import BatchLook, Finding, Place

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
