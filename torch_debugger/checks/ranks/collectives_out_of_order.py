"""Ranks that are in different collectives at the same time."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deadlocks import ORDER, Deadlock, deadlock_of
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import (
    Scene,
    nccl_advice,
    patience,
    recorded_rows,
    seconds,
    spot,
    verb,
    wait_words,
)
from torch_debugger.records import Finding
from torch_debugger.records.ranks import ranks_in_words


class CollectivesOutOfOrder(HangCheck):
    """The ranks call collectives in different orders, or some of them on some ranks only.

    Symptom: all ranks stand still; PyTorch says so after 10 to 30 minutes, in sequence numbers.

    Evidence: all ranks wait in collectives, and not in the same one: the operation or the line differs.

    Fix: let every rank come to the same collectives in the same order. Look at the condition, the order of a
    dictionary or set, or the early `continue` that parts them.

    Known limits: the line that parted the ranks is above the lines where they wait; which it was is not known.
    """

    id = "TD829"
    name = "collectives-out-of-order"
    title = "Ranks wait in different collectives"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        deadlock = deadlock_of(scene)
        if deadlock is not None and deadlock.reason == ORDER:
            yield self._finding(deadlock, scene)

    def _finding(self, deadlock: Deadlock, scene: Scene) -> Finding:
        odd = scene.facts[deadlock.odd[0]]
        parted = ranks_in_words(deadlock.odd)
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"{parted.capitalize()} {verb(deadlock.odd)} in {wait_words(odd)}, while "
            f"{ranks_in_words(deadlock.waiting)} {verb(deadlock.waiting)} in "
            f"{wait_words(deadlock.first)}: they call collectives in different "
            f"orders{_numbers(deadlock, scene)}.",
            why="Collectives are matched by the order in which each rank calls them, and every rank waits "
            f"for the others to call the same one. Nothing has moved for {seconds(odd.still_s)}. "
            f"{patience(odd)}",
            fix=f"Make {parted} come to {spot(odd.place)} and {spot(deadlock.first.place)} in the same order "
            "as the others: look for a condition that differs between ranks, or an order (of a set, of "
            "files) that is not fixed." + nccl_advice(odd),
            where=odd.place,
            first_step=odd.step,
            last_step=odd.step,
            evidence={"stood still": seconds(odd.still_s), **recorded_rows(odd), **scene.rows()},
        )


def _numbers(deadlock: Deadlock, scene: Scene) -> str:
    begun = {fact.groups[0].sequence for fact in scene.facts.values() if fact.groups}
    known = len(begun) == 1 and min(begun) > 0
    return f" (it is number {min(begun):,} for all of them)" if known else ""
