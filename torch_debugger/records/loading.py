"""What loading data costs a training: the waits for each DataLoader, and what its dataset holds."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class HeldData:
    """An attribute of a dataset with one entry for each sample."""

    attribute: str
    kind: str  # list | ndarray | Tensor | DataFrame
    length: int
    entry: str  # the kind of its entries: list, float, ndarray; empty for arrays and tensors
    entry_bytes: int = 0  # of arrays and tensors
    objects_bytes: int = 0  # of the Python objects in a list, all of them, about


@dataclass(frozen=True, slots=True)
class LoadingTime:
    """How long one DataLoader is waited for. Since the run began; the last one holds."""

    loader: int  # LoaderFact.number
    step: int
    batches: int  # taken to train on, the first ones left out
    elapsed_s: float  # while they were
    wait_s: float  # for one of them: the mean without the slowest twentieth
    wait_cpu_s: float  # of which the training thread computed; 0 where workers load
    cpu_s: float  # that this process computed meanwhile, all threads
    stretch: (
        float  # how often longer its computing took, because every core was busy; 1 where that is not known
    )
    workers_cpu_s: float | None  # that its workers computed; None: the system does not tell
    workers_queued_s: float  # that they stood in line for a core
    worker_threads: int  # most threads that a worker had; 0: not known
    passes: int  # begun after the first one
    passes_s: float  # from the first beginning to the last
    opening_s: float  # iter() and the first batch of a pass, with workers: the median
    closing_s: float  # until the workers of a pass have ended: the median
    on_device: bool  # the dataset makes its tensors on a GPU


@dataclass(frozen=True, slots=True)
class LineCost:
    """A line of the user's that making a batch went through."""

    place: Place
    function: str
    seconds: float  # with all that it called
    depth: int  # lines of the user's around it


@dataclass(frozen=True, slots=True)
class LoadingLines:
    """Where the time of making a batch goes, line by line, in some batches of a loader without workers. Sums
    since the run began; the last one holds."""

    loader: int  # LoaderFact.number
    step: int
    looks: int  # batches, or as much of them as was looked at
    seconds: float
    lines: tuple[LineCost, ...]  # the dearest, from the outermost inwards
