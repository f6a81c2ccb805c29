"""What the workers of DataLoaders do: how long each is at work, at which samples, and the memory it takes."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class WorkerTime:
    """One worker of a loader. The first batch of each pass is left out: there the worker starts."""

    worker: int
    batches: int
    timed: int  # of which the training saw the very moment they came
    making_s: float  # at work on one: the median of those; where there are too few, at most that
    fast_s: float  # a quarter of them took less
    slow_s: float  # a quarter took more
    waited_s: float  # that the training stood still for its batches
    place: Place  # the user's line that it was at most often while it made batches
    place_share: float  # of the times that it was looked at then


@dataclass(frozen=True, slots=True)
class WorkerTimes:
    """The workers of one loader, side by side. Since the run began; the last one holds."""

    loader: int  # LoaderFact.number
    step: int
    elapsed_s: float  # of the passes, training included
    in_order: bool
    workers: tuple[WorkerTime, ...]


@dataclass(frozen=True, slots=True)
class SampleSeen:
    """A sample that was being made, seen again and again while the training waited for its batch."""

    index: int | None  # that the dataset was asked for; None where it is a stream
    dataset: str  # the class that was asked
    seconds: float  # within a twentieth of a second
    place: Place  # the user's line that it was at most often
    function: str
    file: str = ""  # one that the line's function names, and that exists
    file_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StalledBatch:
    """A batch that the training waited for far longer than for others."""

    loader: int  # LoaderFact.number
    step: int
    number: int  # the how-manieth batch of the pass, from 0
    iteration: int  # the how-manieth pass, from 1
    worker: int  # -1: the training process makes its batches itself
    waited_s: float
    typical_s: float  # that making a batch takes
    elapsed_s: float  # of the loader's passes so far, training included
    indices: tuple[int, ...]  # of its samples, the first ones; empty where it is a stream
    sample: SampleSeen | None  # the one that took longest, where it could be seen


@dataclass(frozen=True, slots=True)
class GrownContainer:
    """A list, dictionary or set within reach of a worker's dataset that gets longer."""

    name: str  # self.cache, or CACHE of the module
    owner: str  # the class of the object; empty for a global variable
    kind: str  # list | dict | set | deque
    length_before: int  # when the worker began
    length: int
    entry_bytes: int  # of one of the new entries, about
    place: Place  # the line that adds to it, where the source shows one


@dataclass(frozen=True, slots=True)
class WorkerLook:
    """What memory a worker takes. Told ever more rarely."""

    loader: int  # LoaderFact.number
    step: int
    worker: int
    pid: int
    batches: int  # that it has delivered
    own_bytes: int  # that it has written and shares with no other process
    resident_bytes: int  # with what it still shares with the process that it was forked from
    free_bytes: int  # of the machine's memory
    grown: tuple[GrownContainer, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedHandle:
    """A file or connection that a dataset opened before its workers were forked, and that they read through."""

    loader: int  # LoaderFact.number
    step: int
    workers: int
    owner: str  # the class
    attribute: str
    kind: str  # BufferedReader, ZipFile, Connection
    file: str  # its name, where it has one
    moves: int  # times that its position was found elsewhere; -1: it has none that could be asked for
    opened: Place  # the line that opens it
    used: Place  # the first line that reads through it where a sample is made


WorkerRecord = WorkerTimes | StalledBatch | WorkerLook | SharedHandle
