"""The training does not go on; nobody knows more."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deadlocks import UNKNOWN, deadlock_of
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import (
    Scene,
    nccl_advice,
    patience,
    recorded_rows,
    seconds,
    spot,
    subject,
    wait_words,
)
from torch_debugger.checks.hang_workers import worker_row
from torch_debugger.records import Finding, HangFact
from torch_debugger.records.hangs import COLLECTIVE, EXIT, INPUT, LOADER, PROCESS
from torch_debugger.records.ranks import ranks_in_words

_DOES = {
    EXIT: "has reached the end of its script and waits for its threads to end",
    INPUT: "waits for input that nobody can type",
    LOADER: "waits for its DataLoader",
    PROCESS: "waits for another program",
}


class TrainingStandsStill(HangCheck):
    """The training has not gone on for far longer than it ever took, and no other check knows why.

    Symptom: nothing is printed any more, the processor is idle.

    Evidence: the training's thread has used no processor and stood at one line for longer than three times the
    longest pause so far, and for 40 seconds at least. The stacks of all threads, workers and ranks that
    answered are part of the report.

    Fix: look at the line and at the stacks. With several ranks, compare where each of them is.

    Known limits: a wait for something slow and far away is no hang. `--hang-timeout` sets how long it may
    take, and `--no-watchdog` switches the watching off.
    """

    id = "TD820"
    name = "training-stands-still"
    title = "The training stands still"
    last_resort = True
    explains = ("ranks-disagree",)  # what the others say once the one that stood still was ended

    def judge(self, scene: Scene) -> Iterable[Finding]:
        fact = scene.first
        if fact.kind == COLLECTIVE and scene.world > 1:
            deadlock = deadlock_of(scene)
            if deadlock is not None and deadlock.reason == UNKNOWN:
                yield self._among_ranks(fact, scene)
            return
        yield self._alone(fact, scene)

    def _alone(self, fact: HangFact, scene: Scene) -> Finding:
        rank = fact.rank or 0
        does = _DOES.get(fact.kind, f"waits in `{fact.call or fact.doing}`")
        return self._finding(
            fact,
            scene,
            f"{subject(rank, scene)} has stood still for {seconds(fact.still_s)} at step {fact.step:,}: it "
            f"{does}{f' at {spot(fact.place)}' if fact.place else ''}.{scene.others({rank})}",
        )

    def _among_ranks(self, fact: HangFact, scene: Scene) -> Finding:
        waiting = ranks_in_words(scene.waiting)
        return self._finding(
            fact,
            scene,
            f"All {scene.world} ranks have stood still for {seconds(fact.still_s)}: {waiting} in "
            f"{wait_words(fact)}.",
        )

    def _finding(self, fact: HangFact, scene: Scene, message: str) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.8,
            message=message,
            why=f"It computes nothing, and nobody is at work for it. {patience(fact)}",
            fix="Look at the line and at the stacks of all threads, workers and ranks above: somebody else "
            "has to act before it can go on. If this wait is meant, allow it with --hang-timeout."
            + nccl_advice(fact),
            where=fact.place,
            first_step=fact.step,
            last_step=fact.step,
            evidence={
                "stood still": seconds(fact.still_s),
                **worker_row(fact),
                **recorded_rows(fact),
                **scene.rows(),
            },
        )
