from __future__ import annotations

import pytest

from tests.checks.ranks.facts import compared
from tests.fakes import loss_site, place, scalars
from torch_debugger.records import Place, Record, SampledStacks, StackNode

NAME = "straggler-rank"
SAVE, FORWARD = place(32), place(26)


def stacks(shares: dict[Place, int], waiting: int = 0, samples: int = 100) -> SampledStacks:
    lines = [StackNode(-1, "main", where, True, count, count) for where, count in shares.items()]
    library = Place("lib/torch/distributed/distributed_c10d.py", 1)
    lines.append(StackNode(-1, "main", place(40), True, 0, waiting))
    lines.append(StackNode(len(lines) - 1, "all_reduce", library, False, waiting, waiting))
    return SampledStacks("training", samples, 0.02, 90, tuple(lines))


def rank(sampled: SampledStacks | None = None, first: int = 1, last: int = 90, **parts: float) -> list[Record]:
    """Steps of 50 ms, of which the backward takes what is left."""
    split = {f"split/{part}_s": seconds for part, seconds in parts.items()}
    split["split/backward_s"] = 0.05 - sum(parts.values())
    told: list[Record] = [loss_site(28), sampled if sampled is not None else stacks({FORWARD: 50})]
    return [*told, *(scalars(step, split) for step in range(first, last + 1))]


def slow(**others: object) -> list[Record]:
    return rank(stacks({SAVE: 60, FORWARD: 20}), forward=0.01, logging=0.03, **others)  # type: ignore[arg-type]


QUICK = rank(forward=0.01)


def test_the_words() -> None:
    (finding,) = compared(NAME, slow(), QUICK)
    assert finding.message == (
        "Rank 0 takes 40 ms of each step for itself, rank 1 10 ms, and all wait for it: 60% of a step. It "
        "works between its steps longer, most of it at train.py:32."
    )
    assert (finding.severity, finding.where, finding.last_step) == ("warning", SAVE, 90)
    assert "less often" in finding.fix
    assert finding.evidence["part"] == "logging"


@pytest.mark.parametrize(("part", "word"), [("data_wait", "workers"), ("forward", "bucket"), ("other", "less often")])
def test_each_part_has_its_advice(part: str, word: str) -> None:
    late = rank(stacks({FORWARD: 50}), **{part: 0.03})  # type: ignore[arg-type]
    (finding,) = compared(NAME, rank(forward=0.004), late)
    assert finding.evidence["rank"] == 1.0
    assert word in finding.fix
    assert finding.where == loss_site(28).place  # no line of it stands out


def test_of_several_the_one_in_the_middle_counts() -> None:
    (finding,) = compared(NAME, QUICK, slow(), rank(forward=0.012))
    assert "Rank 1 takes 40 ms of each step for itself, the others 11 ms" in finding.message


def test_ranks_that_are_no_stragglers() -> None:
    assert compared(NAME, rank(forward=0.03), rank(forward=0.0235)) == []  # less than 1.3 times as long
    assert compared(NAME, rank(forward=0.010), rank(forward=0.003)) == []  # less than 15 % of a step
    waits = rank(stacks({FORWARD: 20}, waiting=60), forward=0.01, other=0.03)
    assert compared(NAME, waits, QUICK) == [], "waiting in collectives is no work"
    early = [*slow(last=30), *rank(forward=0.01, first=31)[2:]]
    assert compared(NAME, early, QUICK) == [], "not in every third"
    # too short or not sampled
    assert compared(NAME, slow(last=55), rank(forward=0.01, last=55)) == []
    few = stacks({SAVE: 30}, samples=49)
    assert compared(NAME, rank(few, forward=0.01, logging=0.03), QUICK) == []
