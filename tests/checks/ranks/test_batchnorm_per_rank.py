"""batchnorm-per-rank: a note where each rank normalises over a few samples of its own."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.digests import BY_HAND, DDP, compared, digest
from tests.fakes import losses, model
from torch_debugger.records import BatchNormLook, Record

NAME = "batchnorm-per-rank"


def rank(samples: int = 4, looks: int = 3, steps: int = 50, kind: str = "", average: object = DDP) -> list[Record]:
    found: list[Record] = [digest(1, average=average)]
    if kind:
        found.append(model({"model.module.1": kind}, root="model"))
    found += [BatchNormLook("model.module.1", (samples, 16, 6, 6), 0.1, 1.0, step + 1) for step in range(looks)]
    return [*found, *losses([1.0] * steps)]


def test_the_words() -> None:
    (finding,) = compared(NAME, rank(), rank())
    assert finding.message == (
        "`model.module.1` normalises over the 4 samples of its own rank, although 8 are trained on together."
    )
    assert (finding.severity, finding.where.module) == ("note", "model.module.1")
    assert "convert_sync_batchnorm" in finding.fix
    assert finding.evidence == {"samples": 4.0, "ranks": 2.0, "layers": 1.0}


@pytest.mark.parametrize("samples", [1, 8, 32])
def test_other_numbers_of_samples(samples: int) -> None:
    assert compared(NAME, rank(samples), rank(samples)) == []


def test_one_rank_has_enough() -> None:
    assert compared(NAME, rank(4), rank(8)) == []


def test_too_few_looks_or_steps() -> None:
    assert compared(NAME, rank(looks=2), rank(looks=2)) == []
    assert compared(NAME, rank(steps=49), rank(steps=49)) == []


@pytest.mark.parametrize("average", [None, BY_HAND, dataclasses.replace(DDP, ranks=1)])
def test_without_a_wrapper_around_all(average: object) -> None:
    assert compared(NAME, rank(average=average), rank(average=average)) == []


def test_layers_that_are_synchronised() -> None:
    assert compared(NAME, rank(kind="SyncBatchNorm"), rank(kind="SyncBatchNorm")) == []
    assert len(compared(NAME, rank(kind="BatchNorm2d"), rank(kind="BatchNorm2d"))) == 1
