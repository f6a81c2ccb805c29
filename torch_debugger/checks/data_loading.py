"""What checks of the wait for data have in common: the loader that is waited for, once enough is known."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import line_of, name_of
from torch_debugger.checks.call_edits import loader_with_keyword
from torch_debugger.checks.step_time import milliseconds
from torch_debugger.records import Edit, Finding, LoaderFact, LoadingTime, Place, Record, TracedTraining


class LoadingCheck(Check):
    reads = (LoadingTime, TracedTraining)

    # Of the time. Below, a wait is a small part of a step.
    least_share: ClassVar[float] = 0.25
    # For one batch. Taking it from a worker costs a millisecond too.
    least_wait_s: ClassVar[float] = 0.005
    # Of training before anything is said while it runs: files that are read for the first time come slowly, and
    # some datasets keep what they made. Shorter runs are judged when they are over.
    settled_s: ClassVar[float] = 20.0

    @abc.abstractmethod
    def judge(self, loading: LoaderWait, state: RunState) -> Iterable[Finding]:
        """The training waits for this loader that much; whose fault is it?"""

    def judge_traced(self, loading: TracedLoading) -> Iterable[Finding]:
        """The same, where a trace of the profiler is all that is known."""
        return ()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TracedTraining):
            loading = TracedLoading(record)
            if loading.share >= self.least_share and loading.wait_s >= self.least_wait_s:
                yield from self.judge_traced(loading)
            return
        assert isinstance(record, LoadingTime)
        if record.elapsed_s >= self.settled_s:
            yield from self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        """Where what is known is enough to judge by, and the training thread itself waits that much."""
        cores = state.speed.cores if state.speed is not None else 0
        if not cores or not state.split.is_enough():
            return
        times = [time for time in state.loading.values() if time.loader in state.loaders]
        times = [time for time in times if time.batches >= _LEAST_BATCHES and time.elapsed_s > 1.0]
        found = [LoaderWait(state.loaders[time.loader], time, cores) for time in times]
        most = max(found, key=lambda loading: loading.wait_s * loading.time.batches, default=None)
        if most is None or most.share < self.least_share:
            return
        # Without the time in line for a core: as it would be on a machine with nothing else to do. Tensors in memory
        # are only waited for while something is computed.
        quiet_s = most.wait_s - (most.time.stretch - 1) * most.time.wait_cpu_s
        if most.fact.dataset == "TensorDataset" and not most.fact.workers:
            quiet_s = min(most.wait_s, most.time.wait_cpu_s)
        if quiet_s < self.least_wait_s:
            return
        # A thread of the user's may read ahead: then only that one waits.
        if state.split.share("data_wait") >= 0.7 * self.least_share:
            yield from self.judge(most, state)


# The loader that the training waits for most, and what a batch would take with more workers.
_LEAST_BATCHES = 20
_MOST_WORKERS = 16
# What taking a batch from a worker costs the training process (measured: 0.2 to 1 ms).
_HANDOVER_S = 0.001


@dataclass(frozen=True)
class LoaderWait:
    """All times are those of one batch, in seconds."""

    fact: LoaderFact
    time: LoadingTime
    cores: int

    @property
    def batch_s(self) -> float:
        return self.time.elapsed_s / self.time.batches

    @property
    def wait_s(self) -> float:
        return self.time.wait_s

    @property
    def share(self) -> float:
        return min(1.0, self.wait_s / self.batch_s)

    @property
    def rest_s(self) -> float:
        """What the training does with it."""
        return max(0.0, self.batch_s - self.wait_s)

    @property
    def making_s(self) -> float:
        """How long one process is at work on a batch. Workers that are waited for are always at work."""
        return self.wait_s if not self.fact.workers else self.fact.workers * self.batch_s

    @property
    def computed_s(self) -> float:
        """Of making it, with the time in line for a core: on a busy machine everything takes longer, so will
        what workers do."""
        seen_s = self.time.wait_cpu_s * self.time.stretch
        if self.fact.workers:
            known = self.time.workers_cpu_s is not None
            workers_s = (self.time.workers_cpu_s or 0.0) + self.time.workers_queued_s
            seen_s = workers_s / self.time.batches if known else self.making_s
        return min(seen_s, self.making_s)

    @property
    def cpu_s(self) -> float:
        """What all processes of the training compute for a batch, likewise."""
        own_s = self.time.cpu_s / self.time.batches - self.time.wait_cpu_s
        return max(0.0, own_s) * self.time.stretch + self.computed_s

    def with_workers(self, workers: int) -> float:
        """The time of a batch: as long as training on it takes, as loading it takes, and as the processor
        takes for all of it with every core at work; whichever is longest."""
        longest_s = max(self.rest_s, self.making_s / workers, self.cpu_s / self.cores)
        return longest_s + (0.0 if self.fact.workers else _HANDOVER_S)

    def best_workers(self) -> int:
        """As few as bring nearly what many would."""
        best_s = self.with_workers(_MOST_WORKERS)
        least = 1 if self.cores == 1 else 2  # one alone cannot make up for a slow sample
        enough = (number for number in range(least, _MOST_WORKERS) if self.with_workers(number) <= 1.02 * best_s)
        return next(enough, _MOST_WORKERS)

    @property
    def gain(self) -> float:
        """The share of a batch's time that the best number of workers saves."""
        return max(0.0, 1.0 - self.with_workers(self.best_workers()) / self.batch_s)

    # Words

    @property
    def where(self) -> Place:
        return line_of(self.fact)

    @property
    def named(self) -> str:
        return f"`{name_of(self.fact)}`{at_line(self.where)}"

    @property
    def waits(self) -> str:
        wait, whole = milliseconds(self.wait_s), milliseconds(self.batch_s)
        if wait.split()[1] == whole.split()[1]:
            wait = wait.split()[0]
        return f"{wait} of the {whole} that a batch takes ({self.share:.0%})"

    @property
    def cores_used(self) -> float:
        """By all processes of the training together."""
        return (self.time.cpu_s + (self.time.workers_cpu_s or 0.0)) / self.time.elapsed_s


def with_keywords(place: Place, keywords: dict[str, str]) -> Edit | None:
    """The line that makes the loader, with all of these arguments."""
    changed: Place = place
    for keyword, value in keywords.items():
        edit = loader_with_keyword(changed, keyword, value)
        if edit is None:
            return None
        changed = Place(place.file, place.line, place.module, edit.after)
    return Edit(place.file or "", place.line or 0, place.code or "", changed.code or "")


def cores_in_words(cores: int) -> str:
    return "the one core" if cores == 1 else f"the {cores} cores"


# Which lines of the user's a wait for data is spent in, where the training process loads it itself.
_LEAST_LOOKS = 3


@dataclass(frozen=True)
class WaitLine:
    place: Place
    share: float  # of the time in which data is waited for


def lines_to_judge(state: RunState, loading: LoaderWait) -> list[WaitLine] | None:
    """From the outermost inwards; None where workers load, or too few batches were looked at."""
    looked = state.loading_lines.get(loading.fact.number)
    if looked is None or loading.fact.workers or looked.looks < _LEAST_LOOKS or looked.seconds <= 0:
        return None
    return [WaitLine(line.place, min(1.0, line.seconds / looked.seconds)) for line in looked.lines]


def slow_line(state: RunState, loading: LoaderWait, least_share: float = 0.6) -> WaitLine | None:
    """The innermost line that most of the wait is spent in, or below; None where none stands out."""
    lines = lines_to_judge(state, loading) or []
    large = [line for line in lines if line.share >= least_share]
    return large[-1] if large else None


def words_of_line(state: RunState, loading: LoaderWait) -> str:
    line = slow_line(state, loading)
    return f", {line.share:.0%} of that time in {code_at(line.place)}" if line is not None else ""


def code_at(place: Place) -> str:
    return f"`{place.code}` at {place.file}:{place.line}" if place.code else f"{place.file}:{place.line}"


# The wait for a DataLoader as a trace of the profiler shows it: by step, with the kind of loader alone.
WORKERS = 4  # that are advised where nothing is known of the machine


@dataclass(frozen=True)
class TracedLoading:
    """All times are those of one step, in seconds."""

    training: TracedTraining

    @property
    def step_s(self) -> float:
        return self.training.step_s

    @property
    def wait_s(self) -> float:
        return self.training.seconds.get("data_wait", 0.0) / max(1, self.training.steps)

    @property
    def share(self) -> float:
        return self.wait_s / self.step_s if self.step_s > 0 else 0.0

    def best_s(self, times_as_many: int) -> float:
        """A step with so many times the processes that load: its rest, or as long as loading takes."""
        return max(self.step_s - self.wait_s, self.wait_s / times_as_many)

    @property
    def waits(self) -> str:
        return f"{milliseconds(self.wait_s)} of the {milliseconds(self.step_s)} of a step ({self.share:.0%})"

    def evidence(self, gain: float) -> dict[str, float | str]:
        return {"wait_s": self.wait_s, "step_s": self.step_s, "expected_gain": gain}
