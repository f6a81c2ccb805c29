"""A collective that only some ranks call."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deadlocks import SKIPPED, Deadlock, deadlock_of
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import (
    Scene,
    doing_words,
    nccl_advice,
    patience,
    recorded_rows,
    seconds,
    spot,
    verb,
)
from torch_debugger.records import Finding
from torch_debugger.records.ranks import ranks_in_words


class CollectiveSkipped(HangCheck):
    """Only some ranks call a collective, since the line stands under a condition on the rank.

    Symptom: all ranks stand still; PyTorch says so after 10 to 30 minutes, in sequence numbers.

    Evidence: some ranks wait in a collective whose line is inside of an `if` that asks for the rank, all
    others wait in another collective somewhere else, and no rank computes.

    Fix: move the call out of the `if`, so that every rank makes it; or take it out, if the others need not
    wait.

    Known limits: a condition that differs between ranks but does not mention the rank (a loss that is NaN on
    one of them, a file that only one sees) is told as collectives-out-of-order.
    """

    id = "TD826"
    name = "collective-skipped"
    title = "Only some ranks call a collective"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        deadlock = deadlock_of(scene)
        if deadlock is not None and deadlock.reason == SKIPPED:
            yield self._finding(deadlock, scene)

    def _finding(self, deadlock: Deadlock, scene: Scene) -> Finding:
        fact = deadlock.first
        callers, others = ranks_in_words(deadlock.waiting), ranks_in_words(deadlock.odd)
        condition = fact.condition
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"{callers.capitalize()} {verb(deadlock.waiting)} in {doing_words(fact)} at "
            f"{spot(fact.place)} for {others}, which never "
            f"{'comes' if len(deadlock.odd) == 1 else 'come'} there: it is called under "
            f"`{condition.code}` at {spot(condition)}.{scene.others(deadlock.waiting)}",
            why="A collective returns when every rank of its group has called it. Nothing has moved for "
            f"{seconds(fact.still_s)}. {patience(fact)}",
            fix=f"Move {doing_words(fact)} out of `{condition.code}`, so that all ranks call it; what only "
            "one rank should do stays inside." + nccl_advice(fact),
            where=fact.place,
            first_step=fact.step,
            last_step=fact.step,
            evidence={"stood still": seconds(fact.still_s), **recorded_rows(fact), **scene.rows()},
        )
