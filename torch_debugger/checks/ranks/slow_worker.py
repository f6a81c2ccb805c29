"""TD840: one worker of a loader is much slower than the others, and all wait for it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LoaderFact, Record, WorkerTimes
from torch_debugger.records.workers import WorkerTime


class SlowWorker(Check):
    """One worker of a DataLoader takes much longer for its batches than the others do.

    Symptom:
        The training stops at every so-manieth batch, as many apart as there are workers; more workers do not
        help.
    Evidence:
        When each worker is asked for a batch and when it comes. The median of one worker is at least twice that
        of all, its fast quarter is slower than the slow quarter of the others, and the training waits for its
        batches. Where workers are forked, the line that it was at most often.
    Fix:
        Give every worker the same work: shards of the same size and form, from hosts and disks of the same
        speed. Or pass `in_order=False`, so that batches are taken as they come.
    Known limits:
        Batches that lie ready before they are asked for are not timed, so nothing is said of a slow worker that
        the training does not wait for. Lines are not known where workers are spawned.
    """

    id = "TD840"
    name = "slow-worker"
    title = "one worker of a loader is much slower than the others"
    reads = (WorkerTimes,)
    explains = ("too-few-workers",)

    # As slow as all others together may be by chance on a busy machine (seen: up to 1.5).
    slower = 2.0
    # Its fast quarter beside the slow quarter of the others: else a few long batches make the difference.
    apart = 1.2
    # Batches of it whose coming was seen.
    least_timed = 6
    # Of passes, before anything is said while it runs; shorter runs are judged when they are over.
    settled_s = 20.0
    least_s = 1.0

    def __init__(self) -> None:
        self._last: dict[int, WorkerTimes] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, WorkerTimes)
        self._last[record.loader] = record
        if record.elapsed_s >= self.settled_s:
            yield from self._judge(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for times in self._last.values():
            yield from self._judge(times, state)

    def _judge(self, times: WorkerTimes, state: RunState) -> Iterable[Finding]:
        loader, loading = state.loaders.get(times.loader), state.loading.get(times.loader)
        trained = loading is not None and loading.batches
        if loader is None or not trained or not times.in_order or times.elapsed_s < self.least_s:
            return
        typical_s = statistics.median_low(worker.making_s for worker in times.workers)
        slow = [worker for worker in times.workers if self._is_slow(worker, times, typical_s)]
        if not slow or len(slow) > len(times.workers) / 2:
            return
        lost_s = sum((1 - typical_s / worker.making_s) * worker.waited_s for worker in slow)
        severity = severity_of(lost_s / times.elapsed_s)
        if severity is not None:
            yield self._told(times, loader, slow, typical_s, lost_s / times.elapsed_s, severity)

    def _is_slow(self, worker: WorkerTime, times: WorkerTimes, typical_s: float) -> bool:
        others = [other.slow_s for other in times.workers if other is not worker and other.batches]
        if worker.timed < self.least_timed or not others:
            return False
        stands_out = worker.fast_s >= self.apart * statistics.median_low(others)
        return worker.making_s >= self.slower * typical_s and stands_out

    def _told(
        self,
        times: WorkerTimes,
        loader: LoaderFact,
        slow: list[WorkerTime],
        typical_s: float,
        gain: float,
        severity: str,
    ) -> Finding:
        worst = max(slow, key=lambda worker: worker.making_s)
        waited = sum(worker.waited_s for worker in slow) / times.elapsed_s
        who, takes, its = _who(slow)
        where = worst.place if worst.place.file else line_of(loader)
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"{who} of the {loader.workers} of `{name_of(loader)}`{at(line_of(loader))} {takes} "
                f"{milliseconds(worst.making_s)} for a batch, the others {milliseconds(typical_s)}: the "
                f"training stands still for {its} batches {waited:.0%} of the time."
            ),
            why=(
                "Batches are taken in the order in which they were asked for, so all workers go at the pace of "
                f"the slowest.{_line(worst)}"
            ),
            fix=(
                f"Find out what is different there for worker {worst.worker}: its files, its host, its part of "
                "the data. Give every worker the same work, for instance many small shards dealt out with "
                "`shards[info.id::info.num_workers]`; or pass `in_order=False` to the DataLoader (torch 2.6 or "
                f"newer), where the order of batches does not matter. About {gain:.0%} of the time can be "
                "saved."
            ),
            where=where,
            first_step=1,
            last_step=times.step,
            evidence={
                "worker": float(worst.worker),
                "its_batch_s": worst.making_s,
                "other_batch_s": typical_s,
                "waited_share": waited,
                "batches_timed": float(worst.timed),
                "expected_gain": gain,
            },
        )


def _who(slow: list[WorkerTime]) -> tuple[str, str, str]:
    if len(slow) == 1:
        return f"Worker {slow[0].worker}", "takes", "its"
    numbers = [str(worker.worker) for worker in slow]
    return f"Workers {', '.join(numbers[:-1])} and {numbers[-1]}", "take up to", "their"


def _line(worker: WorkerTime) -> str:
    place = worker.place
    if not place.file:
        return ""
    code = f" (`{place.code}`)" if place.code else ""
    return (
        f" Worker {worker.worker} was at {place.file}:{place.line}{code} in {worker.place_share:.0%} of the "
        "looks at it while it made batches."
    )
