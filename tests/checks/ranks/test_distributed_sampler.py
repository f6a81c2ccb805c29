from __future__ import annotations

import dataclasses

import pytest

from tests.checks.ranks.facts import BY_HAND, CALL, DDP, call, compared, digest
from tests.checks.ranks.hanging import among_ranks, waiting
from tests.fakes import only, place
from torch_debugger.records import BatchLook, GradientAverage, LoaderFact, PassFact, Record, TensorLook

OUT_OF_DATA = "rank-out-of-data"


def test_the_words_where_one_is_out_of_data() -> None:
    done = waiting(3, "barrier", 30, world=4, batches=812, is_out_of_data=True)
    others = [waiting(rank, "backward", 88, world=4, batches=813) for rank in range(3)]
    (finding,) = among_ranks(OUT_OF_DATA, *others, done, world=4)
    assert finding.message == (
        "Rank 3 finished its data at batch 812; ranks 0-2 wait at batch 813 in the exchange of gradients in "
        "backward() at train.py:88."
    )
    assert finding.where.line == 88 and "DistributedSampler" in finding.fix
    assert finding.evidence["batches of rank 3"] == 812


def test_ranks_that_are_not_out_of_data_before_the_others() -> None:
    facts = [waiting(rank, "barrier", 30 + rank, batches=20, is_out_of_data=True) for rank in range(2)]
    assert among_ranks(OUT_OF_DATA, *facts) == [], "all at the end of their data is another fault"
    # one that is further has not run out
    done = waiting(0, "barrier", 30, batches=20, is_out_of_data=True)
    assert among_ranks(OUT_OF_DATA, done, waiting(1, "backward", 88, batches=12)) == []


SAME_DATA = "ranks-see-the-same-data"
STEPS = (1, 2, 3, 4, 5, 6)


def sharing(*steps: int, other: int = 0, **others: object) -> list[Record]:
    return [digest(step, calls=(call(5000 + step + other),), **others) for step in steps]


def loader(**others: object) -> LoaderFact:
    made = place(9, code="loader = DataLoader(data, 32, shuffle=True)")
    fact = LoaderFact("TensorDataset", 64, 32, 0, True, place(18), 1, number=1, names=("loader",), made=made)
    return dataclasses.replace(fact, **others)  # type: ignore[arg-type]


def look(trained: bool = True) -> BatchLook:
    return BatchLook(1, 1, 0, trained, (TensorLook("batch[0]", (32, 8), "float32", (1, 2)),), 1)


def test_the_words_with_a_loader() -> None:
    both = [loader(), look(), *sharing(*STEPS)]
    (finding,) = compared(SAME_DATA, both, both)
    assert finding.message == (
        "Ranks 0-1 train on the same batches: equal at all 6 steps that were compared, up to step 6. `loader` "
        "at train.py:9 has no DistributedSampler, and the seed is the same on every rank."
    )
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 9, 1)
    assert "set_epoch" in finding.fix
    assert finding.edit is not None
    assert finding.edit.after == ("loader = DataLoader(data, 32, sampler=torch.utils.data.DistributedSampler(data))")


def test_without_a_loader_the_call_is_named() -> None:
    (finding,) = compared(SAME_DATA, sharing(*STEPS), sharing(*STEPS))
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
    both = [loader(**others), look(), *sharing(*STEPS)]
    assert word in only(compared(SAME_DATA, both, both)).message


def test_only_a_loader_that_is_trained_on_is_named() -> None:
    both = [loader(), look(trained=False), *sharing(*STEPS)]
    assert only(compared(SAME_DATA, both, both)).where == CALL


def test_two_of_three_ranks() -> None:
    wide = dataclasses.replace(DDP, ranks=3)
    alike = sharing(*STEPS, average=wide)
    (finding,) = compared(SAME_DATA, alike, sharing(*STEPS, other=7, average=wide), alike)
    assert finding.evidence["ranks"] == "0 and 2"


def test_one_step_that_differs_is_enough_for_silence() -> None:
    assert compared(SAME_DATA, sharing(*STEPS, 7), [*sharing(*STEPS), *sharing(7, other=1)]) == []
    assert compared(SAME_DATA, sharing(*STEPS, 7), [*sharing(1, other=1), *sharing(*STEPS[1:], 7)]) == []


def test_models_without_tensors_and_few_steps_are_silent() -> None:
    assert compared(SAME_DATA, sharing(*STEPS[1:]), sharing(*STEPS[1:])) == [], "too few steps"
    silent = [digest(step, calls=()) for step in STEPS]
    assert compared(SAME_DATA, silent, silent) == [], "models that are given no tensors"


def test_a_batch_that_never_changes_is_no_evidence() -> None:
    same = [digest(step, calls=(call(5000 + step % 3),)) for step in STEPS]
    assert compared(SAME_DATA, same, same) == []
    varied = [digest(step, calls=(call(5000 + step % 4),)) for step in STEPS]
    assert len(compared(SAME_DATA, varied, varied)) == 1


@pytest.mark.parametrize(
    "average",
    [None, dataclasses.replace(DDP, hooked=True), dataclasses.replace(DDP, ranks=1), dataclasses.replace(DDP, ranks=4)],
)
def test_where_nothing_makes_these_ranks_one(average: GradientAverage | None) -> None:
    assert compared(SAME_DATA, sharing(*STEPS, average=average), sharing(*STEPS, average=average)) == []


@pytest.mark.parametrize("average", [BY_HAND, GradientAverage("FSDP", "model", ranks=2)])
def test_other_ways_to_average(average: GradientAverage) -> None:
    both = sharing(*STEPS, average=average)
    assert len(compared(SAME_DATA, both, both)) == 1


UNEVEN = "uneven-batches"
LOADER = LoaderFact("Share", 20, 20, 0, True, place(22), 1, number=1, names=("loader",), made=place(19))


def passing(length: int, **others: object) -> list[Record]:
    fact = dataclasses.replace(LOADER, length=length)
    values = {"step": length, "batches": length, "updates": length, "backwards": length, **others}
    whole = PassFact(
        loader=1,
        place=place(22),
        calls=(),
        shuffled=True,
        age=0,
        repeats=False,
        **values,  # type: ignore[arg-type]
    )
    return [fact, digest(1), whole]


def test_the_words_where_batches_are_uneven() -> None:
    (finding,) = compared(UNEVEN, passing(20), passing(26))
    assert finding.message == (
        "`loader` at train.py:19 has 20 batches on rank 0 and 26 on rank 1, and each of them goes through all "
        "of its own."
    )
    assert (finding.severity, finding.where.line, finding.last_step) == ("error", 19, 20)
    assert "model.join()" in finding.fix
    assert finding.evidence == {"batches_of_rank_0": 20.0, "batches_of_rank_1": 26.0}


def test_lengths_that_are_equal_or_not_known_are_silent() -> None:
    assert compared(UNEVEN, passing(20), passing(20)) == [], "equal lengths"
    # a pass that is not complete on one of them
    assert compared(UNEVEN, passing(20), passing(26)[:2]) == []
    assert compared(UNEVEN, passing(20)[:2], passing(26)) == []
    # another loader on another rank
    fact, *rest = passing(26)
    assert isinstance(fact, LoaderFact)
    assert compared(UNEVEN, passing(20), [dataclasses.replace(fact, made=place(40)), *rest]) == []
    # a loader without a length
    fact, *rest = passing(26)
    assert isinstance(fact, LoaderFact)
    assert compared(UNEVEN, passing(20), [dataclasses.replace(fact, length=None), *rest]) == []


@pytest.mark.parametrize("others", [{"batches": 20}, {"updates": 0}, {"backwards": 0}])
def test_a_rank_that_does_not_train_on_all_of_its_batches(others: dict[str, object]) -> None:
    assert compared(UNEVEN, passing(20), passing(26, **others)) == []
    if "batches" not in others:
        assert compared(UNEVEN, passing(20, **others), passing(26)) == []


def test_within_join_and_where_nothing_is_averaged() -> None:
    joined = dataclasses.replace(DDP, joins=True)
    for average in (joined, None, dataclasses.replace(DDP, ranks=3)):
        ranks = [[fact, digest(1, average=average), whole] for fact, _, whole in (passing(20), passing(26))]
        assert compared(UNEVEN, *ranks) == []
