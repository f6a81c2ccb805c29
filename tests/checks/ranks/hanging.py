"""Processes that stand still, made by hand: a fact of a hang with everything plain, unless told otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.fakes import place
from torch_debugger.checks.judge import Judge, RanksJudge
from torch_debugger.records import Finding, GroupState, HangFact, Place, RankFact, Record, StackLine, Standing
from torch_debugger.records.ranks import COLLECTIVE, LOADER


def standing(
    who: str, line: int, *, kind: str = "", wait: str = "futex", target: str = "", code: str = "x"
) -> Standing:
    lines = (StackLine(place(line, code=code), "main", True),)
    return Standing(who, 4711, True, 0.0, wait, target, lines, kind)


def hang(kind: str, line: int = 40, **others: Any) -> HangFact:
    """The training of one process, sure that it stands still."""
    fact = HangFact(
        rank=None, world=1, step=23, final=True, still_s=41.0, expected_s=40.0, slowest_s=0.3, kind=kind,
        doing="lock.acquire", place=place(line, code="lock.acquire()"), call="lock.acquire()",
        condition=Place(), shapes=(), groups=(), batches=-1, batches_of=-1, is_out_of_data=False, worker=-1,
        stacks=(standing("training", line, kind=kind),), policy="dump",
    )  # fmt: skip
    return dataclasses.replace(fact, **others)


def waiting(rank: int, doing: str, line: int, *, sequence: int = 12, world: int = 2, **others: Any) -> HangFact:
    """A rank in a collective."""
    group = GroupState("0", "gloo", tuple(range(world)), sequence)
    told: dict[str, Any] = {"rank": rank, "world": world, "doing": doing, "call": doing, "groups": (group,)}
    return hang(COLLECTIVE, line, **{**told, **others})


def at_loader(worker: Standing, **others: Any) -> HangFact:
    """A training that waits for a worker's batch."""
    stacks = (standing("training", 40, kind=LOADER), worker)
    number = int(worker.who.removeprefix("worker "))
    return hang(LOADER, doing="DataLoader", batches=15, worker=number, stacks=stacks, **others)


def alone(name: str, *records: Record) -> list[Finding]:
    judge = Judge([name])
    for record in records:
        judge.see(record)
    return judge.findings


def among_ranks(name: str, *facts: HangFact, world: int = 2, others: dict[int, Record] | None = None) -> list[Finding]:
    """The facts, each in its rank's log, after what `others` say."""
    judge = RanksJudge([name])
    for rank in range(world):
        judge.see(RankFact(rank, rank, world, "gloo", "here", 100 + rank), rank)
    for rank, record in (others or {}).items():
        judge.see(record, rank)
    for fact in facts:
        assert fact.rank is not None
        judge.see(fact, fact.rank)
    return judge.findings
