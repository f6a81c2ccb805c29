"""Slow workers and slow samples that everybody waits for."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import line_of, name_of
from torch_debugger.checks.step_time import LEAST_GAIN, WARNED_GAIN, hot_lines, milliseconds, severity_of
from torch_debugger.records import Finding, LoaderFact, StalledBatch, WorkerTimes
from torch_debugger.records.data import SampleSeen, WorkerTime


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

    def see(self, record: WorkerTimes, state: RunState) -> Iterable[Finding]:
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
            yield self._found(times, loader, slow, typical_s, lost_s / times.elapsed_s, severity)

    def _is_slow(self, worker: WorkerTime, times: WorkerTimes, typical_s: float) -> bool:
        others = [other.slow_s for other in times.workers if other is not worker and other.batches]
        if worker.timed < self.least_timed or not others:
            return False
        stands_out = worker.fast_s >= self.apart * statistics.median_low(others)
        return worker.making_s >= self.slower * typical_s and stands_out

    def _found(
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
            message=f"{who} of the {loader.workers} of `{name_of(loader)}`{at_line(line_of(loader))} {takes} "
            f"{milliseconds(worst.making_s)} for a batch, the others {milliseconds(typical_s)}: the "
            f"training stands still for {its} batches {waited:.0%} of the time.",
            why="Batches are taken in the order in which they were asked for, so all workers go at the pace of "
            f"the slowest.{_line(worst)}",
            fix=f"Find out what is different there for worker {worst.worker}: its files, its host, its part of the "
            "data. Give every worker the same work, for instance many small shards dealt out with "
            "`shards[info.id::info.num_workers]`; or pass `in_order=False` to the DataLoader (torch 2.6 or "
            f"newer), where the order of batches does not matter. About {gain:.0%} of the time can be saved.",
            where=where,
            steps=(1, times.step),
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


_LISTED = 6


class SlowSample(Check):
    """A few samples of a dataset take far longer to make than the others.

    Symptom:
        The training runs smoothly and stands still now and then, for a second or a minute, at no particular
        place; in the next epoch again.
    Evidence:
        Batches that were waited for at least 8 times as long as making one usually takes, and at least a
        quarter of a second. Meanwhile the process that made the batch was looked at 20 times a second: most of
        the time it was at one and the same sample. Its index, its line, and the file that a variable there
        names.
    Fix:
        Repair, shorten or leave out the sample; or prepare it once, before the training.
    Known limits:
        Seen once, it may have been the disk or the network and not the sample: that is told as a note. Workers
        that are spawned cannot be looked into. The first batch of a worker is left out: there it starts.
    """

    id = "TD841"
    name = "slow-sample"
    title = "the training stands still for single samples"
    reads = (StalledBatch,)
    explains = ("too-few-workers", "data-loaded-in-the-training-process", "slow-sample-line")

    # Of the wait, at one sample: else the whole batch was slow, as it is when a disk is busy.
    sample_share = 0.6
    # Stalls of different samples after which it is no accident.
    enough = 3
    settled_s = 20.0

    def __init__(self) -> None:
        self._stalls: dict[int, list[StalledBatch]] = {}

    def see(self, record: StalledBatch, state: RunState) -> Iterable[Finding]:
        sample = record.sample
        if sample is None or sample.seconds < self.sample_share * record.waited_s:
            return
        stalls = self._stalls.setdefault(record.loader, [])
        stalls.append(record)
        if record.elapsed_s >= self.settled_s:
            yield from self._judge(stalls, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for stalls in self._stalls.values():
            yield from self._judge(stalls, state)

    def _judge(self, stalls: Sequence[StalledBatch], state: RunState) -> Iterable[Finding]:
        number = stalls[0].loader
        loader, loading = state.loaders.get(number), state.loading.get(number)
        if loader is None or loading is None or not loading.batches:
            return
        elapsed_s = max(loading.elapsed_s, stalls[-1].elapsed_s)
        gain = sum(stall.waited_s - stall.typical_s for stall in stalls) / elapsed_s
        if gain >= LEAST_GAIN:
            worst = max(stalls, key=lambda stall: stall.waited_s)
            sample = _at_its_line(worst, state)
            yield self._found(stalls, loader, gain, worst, sample)

    def _found(
        self, stalls: Sequence[StalledBatch], loader: LoaderFact, gain: float, worst: StalledBatch, sample: SampleSeen
    ) -> Finding:
        # The passes in which this sample was slow.
        seen = {stall.iteration for stall in stalls if stall.sample is not None and stall.sample.index == sample.index}
        again = sorted(seen) if sample.index is not None else []
        certain = len(again) > 1 or len(stalls) >= self.enough
        line = sample.place if sample.place.file else line_of(loader)
        return self.finding(
            severity="warning" if certain and gain >= WARNED_GAIN else "note",
            confidence=0.92 if len(again) > 1 else 0.8 if certain else 0.6,
            message=_message(stalls, worst, sample, loader),
            why=_why(worst, sample, again, gain),
            fix=_fix(sample, loader, gain),
            where=line,
            steps=(stalls[0].step, stalls[-1].step),
            evidence={
                "sample": "unknown" if sample.index is None else str(sample.index),
                "sample_s": sample.seconds,
                "usual_batch_s": worst.typical_s,
                "waited_s": worst.waited_s,
                "batch": float(worst.number),
                "times_stalled": float(len(stalls)),
                "expected_gain": gain,
            },
        )


def _at_its_line(worst: StalledBatch, state: RunState) -> SampleSeen:
    """In the training process, a call that keeps Python's lock is seen too late; of the same function, the line
    that all samples of its stack were at most often is nearer to the truth."""
    sample, stacks = worst.sample, state.sampled.get("training")
    assert sample is not None
    if worst.worker >= 0 or stacks is None:
        return sample
    near = [line for line in hot_lines(stacks) if line.function == sample.function]
    same = [line for line in near if line.place.file == sample.place.file]
    return dataclasses.replace(sample, place=same[0].place) if same else sample


def _indices(stalls: Sequence[StalledBatch]) -> list[int]:
    found = [stall.sample.index for stall in stalls if stall.sample is not None]
    return sorted({index for index in found if index is not None})


def _message(stalls: Sequence[StalledBatch], worst: StalledBatch, sample: SampleSeen, loader: LoaderFact) -> str:
    others = [index for index in _indices(stalls) if index != sample.index]
    if sample.index is None:
        what = f"A sample of batch {worst.number} of `{name_of(loader)}`"
    else:
        what = f"Sample {sample.index} of `{sample.dataset}`{_file(sample)}"
    more = ""
    if others:
        listed = ", ".join(map(str, others[:_LISTED])) + (" and more" if len(others) > _LISTED else "")
        more = f"; so it does for sample{'s' if len(others) > 1 else ''} {listed}"
    return (
        f"{what} takes {milliseconds(sample.seconds)}{at_line(sample.place)}, and the training stands still for it: "
        f"a whole batch otherwise takes {milliseconds(worst.typical_s)}{more}."
    )


def _why(worst: StalledBatch, sample: SampleSeen, again: list[int], gain: float) -> str:
    who = "the training process" if worst.worker < 0 else f"worker {worst.worker}"
    code = f", in `{sample.place.code}`" if sample.place.code else ""
    waited = (
        f"The training waited {milliseconds(worst.waited_s)} for batch {worst.number} of pass "
        f"{worst.iteration} while {who} was at this sample{code}. Such waits took {gain:.0%} of the time."
    )
    if len(again) > 1:
        return f"{waited} It was slow in {len(again)} passes: it is the sample, not the machine."
    return f"{waited} It was seen once: a disk or a network that hung for a moment looks the same."


def _file(sample: SampleSeen) -> str:
    return f" ({sample.file}, {_size(sample.file_bytes)})" if sample.file else ""


def _size(count: int) -> str:
    if count >= 10**6:
        return f"{count / 1e6:.3g} MB"
    return f"{count / 1e3:.3g} kB" if count >= 1000 else f"{count} bytes"


def _fix(sample: SampleSeen, loader: LoaderFact, gain: float) -> str:
    what = "Look at this sample" if sample.index is None else f"Look at sample {sample.index}"
    name = f" (`{sample.file}`)" if sample.file else ""
    ahead = (
        "where it has to stay, a larger `prefetch_factor` lets the other workers work ahead meanwhile"
        if loader.workers > 1
        else f"where it has to stay, workers that work ahead (`num_workers=2`{at_line(line_of(loader))}) hide it"
    )
    return (
        f"{what}{name}: repair it, shorten it, leave it out, or do its work once before the training and keep "
        f"the result; {ahead}. Up to {gain:.0%} of the time can be saved."
    )
