"""One sample of a dataset that never gets ready."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, patience, seconds, spot, subject
from torch_debugger.checks.hang_workers import awaited, worker_row
from torch_debugger.records import Finding, HangFact, Place
from torch_debugger.records.hangs import LOADER, LOOP, SLEEP


class EndlessSample(HangCheck):
    """Making one batch takes far longer than any batch before it, and the dataset is still at it.

    Symptom: the training waits for the next batch; one processor is busy, or the worker sleeps between
    attempts.

    Evidence: the dataset has worked on one and the same batch for more than ten times what the slowest one took
    so far, and no less than 40 seconds. The line it is at is read from its stack.

    Fix: look at the loop at that line: what if no candidate is ever good enough, or the file never appears?
    Give it a largest number of attempts, and raise with the sample's index when they are used up.

    Known limits: one enormous sample looks like this until it is ready. Before three steps are done nothing is
    known of how long a batch takes, and ten minutes are given.
    """

    id = "TD823"
    name = "endless-sample"
    title = "A dataset works on one sample without end"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        for rank, fact in scene.stuck((LOADER, LOOP)).items():
            worker = awaited(fact)
            if fact.kind == LOOP:
                yield self._finding(rank, fact, fact.place, "the dataset", "loops", scene)
            elif worker is not None and worker.kind in (LOOP, SLEEP) and worker.users_line:
                does = "loops" if worker.kind == LOOP else "sleeps"
                yield self._finding(rank, fact, worker.users_line, worker.who, does, scene)

    def _finding(self, rank: int, fact: HangFact, line: Place, who: str, does: str, scene: Scene) -> Finding:
        batch = f"batch {fact.batches + 1:,}" if fact.batches >= 0 else "the next batch"
        return self.finding(
            severity="error",
            confidence=0.85,
            message=f"{subject(rank, scene)} has waited {seconds(fact.still_s)} for {batch}: {who} {does} at "
            f"{spot(line)} and does not come back.{scene.others({rank})}",
            why=f"It is still at the same batch. {patience(fact)}",
            fix=f"Look at the loop around {spot(line)}: it has no end for this sample. Limit the number of "
            "attempts and raise an error that names the sample's index.",
            where=line,
            first_step=fact.step,
            last_step=fact.step,
            evidence={"stood still": seconds(fact.still_s), **worker_row(fact), **scene.rows()},
        )
