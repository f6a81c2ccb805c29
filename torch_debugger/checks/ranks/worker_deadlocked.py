"""A worker of a loader waits for a lock that stayed behind in the training process."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, patience, seconds, spot, subject
from torch_debugger.checks.hang_workers import awaited, worker_row
from torch_debugger.records import Finding, HangFact, Standing
from torch_debugger.records.hangs import CALL, EVENT, LOADER, LOCK


class WorkerDeadlocked(HangCheck):
    """A worker of a DataLoader waits for a lock that nobody in its process will ever release.

    Symptom: the training waits for the next batch for ever; all processors are idle.

    Evidence: the training waits for the batch of one worker, and that worker has been in one and the same wait
    for a lock without using the processor. A forked worker has copies of all locks of the training process,
    in the state they were in at the moment of the fork, and none of the threads that would release them.

    Fix: make locks, thread pools, loggers and clients inside of the worker (`worker_init_fn`, or on first use
    in `__getitem__`), or start the workers afresh with `multiprocessing_context="spawn"`. Stop your threads
    before the first pass over the loader.

    Known limits: stacks of workers are read where workers are forked. Spawned ones are only seen to wait.
    """

    id = "TD822"
    name = "worker-deadlocked"
    title = "A worker of a loader waits for a lock that nobody releases"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        for rank, fact in scene.stuck((LOADER,)).items():
            worker = awaited(fact)
            if worker is not None and worker.kind in (LOCK, EVENT, CALL) and worker.lines:
                yield self._finding(rank, fact, worker, scene)

    def _finding(self, rank: int, fact: HangFact, worker: Standing, scene: Scene) -> Finding:
        line = worker.users_line
        code = f"`{line.code}` at " if line.code else ""
        return self.finding(
            severity="error",
            confidence=0.95 if worker.kind == LOCK else 0.8,
            message=f"{subject(rank, scene)} has waited {seconds(fact.still_s)} for batch "
            f"{fact.batches + 1:,} of the loader at {spot(fact.place)}: {worker.who} waits for a "
            f"lock in {code}{spot(line)} and computes nothing.{scene.others({rank})}",
            why="A forked worker gets a copy of every lock as it was at the moment of the fork, and none of "
            "the threads that would release it: a lock that was held then is held there for ever. "
            f"{patience(fact)}",
            fix="Do not let a forked worker use a lock of the training process: make it in the worker "
            "(worker_init_fn, or on first use), do not hold it while the loader is started, or pass "
            'multiprocessing_context="spawn" to the DataLoader.',
            where=line or fact.place,
            first_step=fact.step,
            last_step=fact.step,
            evidence={"stood still": seconds(fact.still_s), **worker_row(fact), **scene.rows()},
        )
