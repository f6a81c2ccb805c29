"""The loader that the training waits for most, and what a batch would take with more workers."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.deliveries import at, line_of, name_of
from torch_debugger.checks.gains import milliseconds
from torch_debugger.checks.loader_call import with_keyword
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, LoaderFact, LoadingTime, Place

_MOST_WORKERS = 16
# What taking a batch from a worker costs the training process (measured: 0.2 to 1 ms).
_HANDOVER_S = 0.001


@dataclass(frozen=True)
class Loading:
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
    def quiet_wait_s(self) -> float:
        """Without the time in line for a core: as it would be on a machine with nothing else to do. Tensors
        in memory are only waited for while something is computed."""
        if self.fact.dataset == "TensorDataset" and not self.fact.workers:
            return min(self.wait_s, self.time.wait_cpu_s)
        return self.wait_s - (self.time.stretch - 1) * self.time.wait_cpu_s

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
        enough = (
            number for number in range(least, _MOST_WORKERS) if self.with_workers(number) <= 1.02 * best_s
        )
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
        return f"`{name_of(self.fact)}`{at(self.where)}"

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


def waited_for(state: RunState, least_share: float, least_s: float) -> Loading | None:
    """None unless what is known is enough to judge by, and the training thread itself waits that much."""
    cores = state.speed.cores if state.speed is not None else 0
    if not cores or not state.split.is_enough():
        return None
    found = [Loading(state.loaders[time.loader], time, cores) for time in _timed(state)]
    most = max(found, key=lambda loading: loading.wait_s * loading.time.batches, default=None)
    if most is None or most.share < least_share or most.quiet_wait_s < least_s:
        return None
    # A thread of the user's may read ahead: then only that one waits.
    return most if state.split.share("data_wait") >= 0.7 * least_share else None


def _timed(state: RunState, least_batches: int = 20) -> list[LoadingTime]:
    times = [time for time in state.loading.values() if time.loader in state.loaders]
    return [time for time in times if time.batches >= least_batches and time.elapsed_s > 1.0]


def with_keywords(place: Place, keywords: dict[str, str]) -> Edit | None:
    """The line that makes the loader, with all of these arguments."""
    changed: Place = place
    for keyword, value in keywords.items():
        edit = with_keyword(changed, keyword, value)
        if edit is None:
            return None
        changed = Place(place.file, place.line, place.module, edit.after)
    return Edit(place.file or "", place.line or 0, place.code or "", changed.code or "")


def cores_in_words(cores: int) -> str:
    return "the one core" if cores == 1 else f"the {cores} cores"
