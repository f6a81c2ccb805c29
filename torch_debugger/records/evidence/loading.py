"""What a DataLoader, its dataset and its workers were doing."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place

_NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class LoaderState:
    """The DataLoader that was being read or made."""

    dataset: str  # its class
    place: Place = _NOWHERE  # the line that makes the loader
    class_place: Place = _NOWHERE  # the line of the dataset's class
    dataset_place: Place = _NOWHERE  # the line of its __getitem__ or __iter__
    sample_place: Place = _NOWHERE  # the line of __getitem__ that returns, where there is but one
    none_place: Place = _NOWHERE  # the line of __getitem__ that returns None
    length: int | None = None
    length_place: Place = _NOWHERE  # the line of __len__ that returns
    workers: int = 0
    batch_size: int | None = None
    start_method: str = ""
    lacks: tuple[str, ...] = ()  # methods a dataset needs and this one does not have


@dataclass(frozen=True, slots=True)
class Subscripted:
    """A container that was asked for something it does not hold."""

    container: str  # self.labels
    kind: str
    size: int
    key: str
    keys: str = ""  # some of those a dictionary has
    near: str = ""  # the one of all its keys that resembles it most
    place: Place = _NOWHERE  # where the container is made


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file that was not there, and what stands around its place."""

    path: str
    folder_exists: bool
    entries: int = 0
    nearest: str = ""  # the name in that folder most like it
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception inside a dataset, a collate function or a worker's start, as near as it can be seen."""

    kind: str
    message: str
    place: Place = _NOWHERE  # the innermost line of the user's
    function: str = ""
    failing: str = ""  # the very expression
    index: int | None = None  # what the user's own __getitem__ was asked for
    reach: dict[str, str] = field(default_factory=dict)  # plain values in the failing expression
    subscripted: Subscripted | None = None
    missing: MissingFile | None = None


@dataclass(frozen=True, slots=True)
class OddPart:
    """Where the samples of a batch differ, or hold what no batch can be made of."""

    path: str  # [1], ['label']; empty for the whole sample
    kind: str
    usual: str  # what the others have there; empty where all are alike
    samples: tuple[int, ...]  # their indices in the dataset, or places in the batch
    counted: int  # of so many


@dataclass(frozen=True, slots=True)
class SampleFailure:
    """An exception while a batch was made."""

    stage: str  # sample | collate | start
    raised: Raised
    worker: int | None = None  # None in the main process
    batch: int | None = None  # counted from 0
    indices: tuple[int, ...] = ()  # of that batch, where the sampler's order can be read
    failing: tuple[int, ...] = ()  # the samples that raise, those looked at once more included
    looked_at: int = 0
    odd: OddPart | None = None


@dataclass(frozen=True, slots=True)
class WorkerDeath:
    """A worker that ended without a word."""

    pids: tuple[int, ...]
    exit_code: int | None  # -9 for signal 9
    worker: int | None = None  # its number
    seen_at: int | None = None  # the sample that it was last seen at for long
    seen_place: Place = _NOWHERE
    delivered: int | None = None  # batches that had come, where that is known
    batch: int | None = None
    culprit: int | None = None  # the sample that ends a process that fetches it
    culprit_place: Place = _NOWHERE
    shared_free_bytes: int = -1
    shared_total_bytes: int = -1
    memory_free_bytes: int = -1
    batch_bytes: int = -1
    unguarded: Place = _NOWHERE  # the script's line that starts processes outside a __main__ guard


@dataclass(frozen=True, slots=True)
class Unpicklable:
    """The part of an object that pickle refused."""

    sender: str  # DataLoader | torch.save | Process
    path: str  # dataset.transform
    kind: str  # lambda | local function | local class | open file | lock | generator | a class's name
    name: str = ""
    made: Place = _NOWHERE  # where that part is made or put in
    start_method: str = ""


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The descriptors of this process, counted."""

    opened: int
    limit: int
    strategy: str  # how torch shares tensors between processes
    holder: str = ""  # a variable that keeps many of them
    held: int = 0
    holds: str = ""  # tensors | files
    place: Place = _NOWHERE  # the line that fills the holder


@dataclass(frozen=True, slots=True)
class SlowBatch:
    """A batch that did not come in time."""

    timeout_s: float
    worker: int | None
    batch: int | None
    index: int | None = None  # a sample that takes longer than we waited
    place: Place = _NOWHERE  # where it spends its time


@dataclass(frozen=True, slots=True)
class LoaderCall:
    """What DataLoader(...) was given, where it raised at once."""

    given: dict[str, str]  # what differs from the defaults; objects by their class
    iterable: bool = False  # an IterableDataset


@dataclass(frozen=True, slots=True)
class LoaderUse:
    """A DataLoader in the line that raised, and what its batches are made of."""

    name: str  # as the line writes it
    around: str = ""  # enumerate
    loop: Place = _NOWHERE  # the `for` line, where one goes through the loader
    target: str = ""  # what that line gives a batch to: (x, y)
    variable: str = ""  # the target that the failing expression uses
    variable_kind: str = ""
    sample: str = ""  # tuple of 3 (tensor float32 [4], int, str)
    parts: int | None = None
    keys: tuple[str, ...] = ()  # of a dict
    collate: str = ""  # the user's own function that makes the batches: `sample` is then a batch of its


@dataclass(frozen=True, slots=True)
class LoadingEvidence:
    """What a DataLoader and its workers were doing; the part that fits the crash is there."""

    loader: LoaderState | None = None
    failure: SampleFailure | None = None
    death: WorkerDeath | None = None
    unpicklable: Unpicklable | None = None
    files: OpenFiles | None = None
    slow: SlowBatch | None = None
    call: LoaderCall | None = None
    use: LoaderUse | None = None
