"""ranks-see-the-same-data: equal inputs at every step that was compared."""

from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.digests import BY_HAND, CALL, DDP, call, compared, digest
from tests.fakes import place
from torch_debugger.records import BatchLook, GradientAverage, LoaderFact, Record, TensorLook

NAME = "ranks-see-the-same-data"
STEPS = (1, 2, 3, 4, 5, 6)


def rank(*steps: int, other: int = 0, **others: object) -> list[Record]:
    return [digest(step, calls=(call(5000 + step + other),), **others) for step in steps]


def loader(**others: object) -> LoaderFact:
    made = place(9, code="loader = DataLoader(data, 32, shuffle=True)")
    fact = LoaderFact("TensorDataset", 64, 32, 0, True, place(18), 1, number=1, names=("loader",), made=made)
    return dataclasses.replace(fact, **others)  # type: ignore[arg-type]


def look(trained: bool = True) -> BatchLook:
    return BatchLook(1, 1, 0, trained, (TensorLook("batch[0]", (32, 8), "float32", (1, 2)),), 1)


def test_the_words_with_a_loader() -> None:
    both = [loader(), look(), *rank(*STEPS)]
    (finding,) = compared(NAME, both, both)
    assert finding.message == (
        "Ranks 0-1 train on the same batches: equal at all 6 steps that were compared, up to step 6. `loader` "
        "at train.py:9 has no DistributedSampler, and the seed is the same on every rank."
    )
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 9, 1)
    assert "set_epoch" in finding.fix
    assert finding.edit is not None
    assert finding.edit.after == ("loader = DataLoader(data, 32, sampler=torch.utils.data.DistributedSampler(data))")


def test_without_a_loader_the_call_is_named() -> None:
    (finding,) = compared(NAME, rank(*STEPS), rank(*STEPS))
    assert finding.where == CALL
    assert "seed + rank" in finding.fix
    assert finding.edit is None


@pytest.mark.parametrize(
    ("others", "word"),
    [
        ({"replica": 0, "replicas": 2, "sampler": "DistributedSampler"}, "takes share 0 of 2"),
        ({"iterable": True, "shuffle": None}, "reads a stream"),
        ({"shuffle": False}, "has no DistributedSampler."),
    ],
)
def test_each_kind_of_loader_has_its_words(others: dict[str, object], word: str) -> None:
    both = [loader(**others), look(), *rank(*STEPS)]
    (finding,) = compared(NAME, both, both)
    assert word in finding.message


def test_only_a_loader_that_is_trained_on_is_named() -> None:
    both = [loader(), look(trained=False), *rank(*STEPS)]
    (finding,) = compared(NAME, both, both)
    assert finding.where == CALL


def test_two_of_three_ranks() -> None:
    wide = dataclasses.replace(DDP, ranks=3)
    alike = rank(*STEPS, average=wide)
    (finding,) = compared(NAME, alike, rank(*STEPS, other=7, average=wide), alike)
    assert finding.evidence["ranks"] == "0 and 2"


def test_one_step_that_differs_is_enough_for_silence() -> None:
    assert compared(NAME, rank(*STEPS, 7), [*rank(*STEPS), *rank(7, other=1)]) == []
    assert compared(NAME, rank(*STEPS, 7), [*rank(1, other=1), *rank(*STEPS[1:], 7)]) == []


def test_too_few_steps() -> None:
    assert compared(NAME, rank(*STEPS[1:]), rank(*STEPS[1:])) == []


def test_a_batch_that_never_changes_is_no_evidence() -> None:
    same = [digest(step, calls=(call(5000 + step % 3),)) for step in STEPS]
    assert compared(NAME, same, same) == []
    varied = [digest(step, calls=(call(5000 + step % 4),)) for step in STEPS]
    assert len(compared(NAME, varied, varied)) == 1


@pytest.mark.parametrize(
    "average",
    [
        None,
        dataclasses.replace(DDP, hooked=True),
        dataclasses.replace(DDP, ranks=1),
        dataclasses.replace(DDP, ranks=4),
    ],
)
def test_where_nothing_makes_these_ranks_one(average: GradientAverage | None) -> None:
    assert compared(NAME, rank(*STEPS, average=average), rank(*STEPS, average=average)) == []


@pytest.mark.parametrize("average", [BY_HAND, GradientAverage("FSDP", "model", ranks=2)])
def test_other_ways_to_average(average: GradientAverage) -> None:
    both = rank(*STEPS, average=average)
    assert len(compared(NAME, both, both)) == 1


def test_models_that_are_given_no_tensors() -> None:
    silent = [digest(step, calls=()) for step in STEPS]
    assert compared(NAME, silent, silent) == []
