from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.ranks.facts import BY_HAND, CALL, DDP, WRAPPED, call, compared, digest
from tests.fakes import losses, model, only
from torch_debugger.records import BatchNormLook, RankDigest, Record

PER_RANK = "batchnorm-per-rank"


def normalizing(
    samples: int = 4, looks: int = 3, steps: int = 50, kind: str = "", average: object = DDP
) -> list[Record]:
    found: list[Record] = [digest(1, average=average)]
    if kind:
        found.append(model({"model.module.1": kind}, root="model"))
    found += [BatchNormLook("model.module.1", (samples, 16, 6, 6), 0.1, 1.0, step + 1) for step in range(looks)]
    return [*found, *losses([1.0] * steps)]


def test_the_words() -> None:
    (finding,) = compared(PER_RANK, normalizing(), normalizing())
    assert finding.message == (
        "`model.module.1` normalises over the 4 samples of its own rank, although 8 are trained on together."
    )
    assert (finding.severity, finding.where.module) == ("note", "model.module.1")
    assert "convert_sync_batchnorm" in finding.fix
    assert finding.evidence == {"samples": 4.0, "ranks": 2.0, "layers": 1.0}


@pytest.mark.parametrize("samples", [1, 8, 32])
def test_other_numbers_of_samples(samples: int) -> None:
    assert compared(PER_RANK, normalizing(samples), normalizing(samples)) == []


def test_batch_norms_that_see_enough_are_silent() -> None:
    assert compared(PER_RANK, normalizing(4), normalizing(8)) == [], "one rank has enough"
    # too few looks or steps
    assert compared(PER_RANK, normalizing(looks=2), normalizing(looks=2)) == []
    assert compared(PER_RANK, normalizing(steps=49), normalizing(steps=49)) == []
    # layers that are synchronised
    assert compared(PER_RANK, normalizing(kind="SyncBatchNorm"), normalizing(kind="SyncBatchNorm")) == []
    assert len(compared(PER_RANK, normalizing(kind="BatchNorm2d"), normalizing(kind="BatchNorm2d"))) == 1


@pytest.mark.parametrize("average", [None, BY_HAND, dataclasses.replace(DDP, ranks=1)])
def test_without_a_wrapper_around_all(average: object) -> None:
    assert compared(PER_RANK, normalizing(average=average), normalizing(average=average)) == []


BYPASSED = "ddp-bypassed"


def stepping(number: int, role: str = "inner", steps: int = 3, **others: object) -> list[Record]:
    return [
        digest(step, gradients=(number, 4000), calls=(call(number, role),), **others) for step in range(1, steps + 1)
    ]


def test_the_words_where_the_module_inside_is_called() -> None:
    (finding,) = compared(BYPASSED, stepping(0), stepping(1))
    assert finding.message == (
        "`model` is a DistributedDataParallel at train.py:12, but the module inside of it is called at "
        "train.py:20: the gradients of ranks 0-1 differed at 3 steps that were compared."
    )
    assert (finding.severity, finding.where, finding.first_step, finding.last_step) == ("error", CALL, 1, 3)
    assert finding.fix == "Call `model(...)` at train.py:20."
    assert finding.edit is not None and finding.edit.after == "loss = criterion(model(x), y)"
    assert finding.evidence["different_gradients"] == "1 of 2"


def test_the_words_where_nothing_is_averaged_for_no_sync() -> None:
    paused = dataclasses.replace(DDP, paused=True)
    (finding,) = compared(BYPASSED, stepping(0, "wrapper", average=paused), stepping(1, "wrapper", average=paused))
    assert finding.message.startswith("Every backward of `model` at train.py:20 is under `no_sync()`")
    assert "no_sync" in finding.fix
    assert finding.edit is None


def test_without_the_words_in_the_line_there_is_no_edit() -> None:
    unnamed = dataclasses.replace(DDP, name="")
    (finding,) = compared(BYPASSED, stepping(0, average=unnamed), stepping(1, average=unnamed))
    assert finding.edit is not None  # called `model` for want of a name, and the line agrees
    other = dataclasses.replace(DDP, name="wrapped")
    assert only(compared(BYPASSED, stepping(0, average=other), stepping(1, average=other))).edit is None


def test_ranks_that_are_not_known_to_bypass_the_wrapper_are_silent() -> None:
    assert compared(BYPASSED, stepping(0, steps=2), stepping(1, steps=2)) == [], "too few steps"
    # The user averages them after a call of the module inside.
    assert compared(BYPASSED, stepping(0), stepping(0)) == [], "equal gradients are no fault"
    assert compared(BYPASSED, stepping(0), stepping(1, "wrapper")) == [], "one rank alone goes another way"
    # a step with equal gradients in between starts anew
    healed = [digest(3)]
    assert compared(BYPASSED, [*stepping(0, steps=2), *healed], [*stepping(1, steps=2), *healed]) == []
    # other ways to average and hooks
    for average in (BY_HAND, dataclasses.replace(DDP, hooked=True), None):
        assert compared(BYPASSED, stepping(0, average=average), stepping(1, average=average)) == []


@pytest.mark.parametrize("role", ["wrapper", "other"])
def test_where_the_wrapper_was_called_or_nobody_knows(role: str) -> None:
    assert compared(BYPASSED, stepping(0, role), stepping(1, role)) == []


DRIFT = "ranks-drift-apart"


def apart(number: int, first: int = 1, **others: object) -> list[Record]:
    """Three steps with weights that no other rank has."""
    values: dict[str, object] = {"weights": (number, 2000), "norms": (2.5 + number, 0.5), **others}
    return [digest(step, **values) for step in range(first, first + 3)]


def test_the_words_where_weights_differ_from_the_start() -> None:
    (finding,) = compared(DRIFT, apart(0, average=BY_HAND), apart(1, average=BY_HAND))
    assert finding.message == (
        "The weights of ranks 0-1 should be equal and are not, since step 1: at step 3 the norm of "
        "`model.fc.weight` is 2.5 on rank 0 and 3.5 on rank 1. They differed before the first update: every "
        "rank has made weights of its own, and averaging gradients does not make them one."
    )
    assert (finding.severity, finding.where, finding.first_step) == ("error", CALL, 1)
    assert "dist.broadcast(p.data, 0)" in finding.fix
    assert finding.evidence["different_parameters"] == "1 of 2"


def test_each_cause_of_weights_that_part_is_told() -> None:
    # ddp gives all the same weights so somebody changed them
    (finding,) = compared(DRIFT, apart(0), apart(1))
    assert "something has changed them since, on some ranks only" in finding.message
    assert finding.where == WRAPPED
    # updates that one rank leaves out
    equal = [digest(1)]
    skipped = [
        dataclasses.replace(each, backwards=each.step + 1) for each in apart(1, 2) if isinstance(each, RankDigest)
    ]
    (finding,) = compared(DRIFT, [*equal, *apart(0, 2)], [*equal, *skipped])
    assert "Rank 1 has left out updates: 3 backward passes for its first 1 updates" in finding.message
    assert "isnan" in finding.fix
    # other learning rates
    equal, other = [digest(1)], [digest(1, rates=(0.05,))]
    (finding,) = compared(DRIFT, [*equal, *apart(0, 2)], [*other, *apart(1, 2, rates=(0.05,))])
    assert "Their learning rates differ at step 1: 0.1 on rank 0, 0.05 on rank 1." in finding.message
    assert "ReduceLROnPlateau" in finding.fix
    # a parameter that is not averaged
    first, other = digest(1, gradients=(3001, 1)), digest(1, gradients=(3001, 2))
    (finding,) = compared(DRIFT, [first, *apart(0, 2)], [other, *apart(1, 2)])
    assert "The gradients of `model.fc.bias` are not averaged, those of the others are." in finding.message
    # nothing else differs
    equal = [digest(1)]
    (finding,) = compared(DRIFT, [*equal, *apart(0, 2)], [*equal, *apart(1, 2)])
    assert "Gradients and learning rates were equal" in finding.message
    assert finding.first_step == 2


def test_ranks_that_do_not_drift_or_are_not_compared_are_silent() -> None:
    # too few steps and weights that come together again
    assert compared(DRIFT, apart(0)[:2], apart(1)[:2]) == []
    healed = [digest(3)]
    assert compared(DRIFT, [*apart(0)[:2], *healed], [*apart(1)[:2], *healed]) == []
    assert compared(DRIFT, apart(0, norms=(math.nan, 0.5)), apart(1)) == [], "what is not finite is another matter"
    # other parameters are another model
    assert compared(DRIFT, apart(0), apart(1, names=("model.fc.weight", "model.out.bias"))) == []
    assert compared(DRIFT, apart(0), apart(1, shapes=("(8, 8)", "(4,)"))) == []


@pytest.mark.parametrize(
    "average", [None, *(dataclasses.replace(DDP, **odd) for odd in ({"hooked": True}, {"joins": True}, {"ranks": 3}))]
)
def test_where_nothing_makes_these_ranks_one(average: object) -> None:
    assert compared(DRIFT, apart(0, average=average), apart(1, average=average)) == []
