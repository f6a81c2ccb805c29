"""What a DataLoader, its dataset and its workers were doing."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.findings import Place

_NOWHERE = Place()


class LoaderState(BaseRecord, frozen=True):
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


class Subscripted(BaseRecord, frozen=True):
    """A container that was asked for something it does not hold."""

    container: str  # self.labels
    kind: str
    size: int
    key: str
    keys: str = ""  # some of those a dictionary has
    near: str = ""  # the one of all its keys that resembles it most
    place: Place = _NOWHERE  # where the container is made


class MissingFile(BaseRecord, frozen=True):
    """A file that was not there, and what stands around its place."""

    path: str
    folder_exists: bool
    entries: int = 0
    nearest: str = ""  # the name in that folder most like it
    relative: bool = False


class Raised(BaseRecord, frozen=True):
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


class OddPart(BaseRecord, frozen=True):
    """Where the samples of a batch differ, or hold what no batch can be made of."""

    path: str  # [1], ['label']; empty for the whole sample
    kind: str
    usual: str  # what the others have there; empty where all are alike
    samples: tuple[int, ...]  # their indices in the dataset, or places in the batch
    counted: int  # of so many


class SampleFailure(BaseRecord, frozen=True):
    """An exception while a batch was made."""

    stage: str  # sample | collate | start
    raised: Raised
    worker: int | None = None  # None in the main process
    batch: int | None = None  # counted from 0
    indices: tuple[int, ...] = ()  # of that batch, where the sampler's order can be read
    failing: tuple[int, ...] = ()  # the samples that raise, those looked at once more included
    looked_at: int = 0
    odd: OddPart | None = None


class WorkerDeath(BaseRecord, frozen=True):
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


class Unpicklable(BaseRecord, frozen=True):
    """The part of an object that pickle refused."""

    sender: str  # DataLoader | torch.save | Process
    path: str  # dataset.transform
    kind: str  # lambda | local function | local class | open file | lock | generator | a class's name
    name: str = ""
    made: Place = _NOWHERE  # where that part is made or put in
    start_method: str = ""


class OpenFiles(BaseRecord, frozen=True):
    """The descriptors of this process, counted."""

    opened: int
    limit: int
    strategy: str  # how torch shares tensors between processes
    holder: str = ""  # a variable that keeps many of them
    held: int = 0
    holds: str = ""  # tensors | files
    place: Place = _NOWHERE  # the line that fills the holder


class SlowBatch(BaseRecord, frozen=True):
    """A batch that did not come in time."""

    timeout_s: float
    worker: int | None
    batch: int | None
    index: int | None = None  # a sample that takes longer than we waited
    place: Place = _NOWHERE  # where it spends its time


class LoaderCall(BaseRecord, frozen=True):
    """What DataLoader(...) was given, where it raised at once."""

    given: dict[str, str]  # what differs from the defaults; objects by their class
    iterable: bool = False  # an IterableDataset


class LoaderUse(BaseRecord, frozen=True):
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


class LoadingEvidence(BaseRecord, frozen=True):
    """What a DataLoader and its workers were doing; the part that fits the crash is there."""

    loader: LoaderState | None = None
    failure: SampleFailure | None = None
    death: WorkerDeath | None = None
    unpicklable: Unpicklable | None = None
    files: OpenFiles | None = None
    slow: SlowBatch | None = None
    call: LoaderCall | None = None
    use: LoaderUse | None = None


# Process groups, ranks and compiled regions at the moment of the crash.
class GroupEvidence(BaseRecord, frozen=True):
    """What init_process_group was given, and what it found."""

    environment: dict[str, str] = field(default_factory=dict)  # RANK, WORLD_SIZE, ...: those that are set
    backend: str = ""
    rank: int | None = None
    world_size: int | None = None
    initialized: bool = False  # there is a default group now
    built: tuple[str, ...] = ()  # the backends that this torch has
    gpus: int | None = None  # that this process sees; None where they were not counted
    current_gpu: int | None = None  # once CUDA is in use
    hides_gpus: str | None = None  # CUDA_VISIBLE_DEVICES, where it is set
    holder: str = ""  # who listens on the port that is in use: `python serve.py` (pid 71)
    free_port: int | None = None
    calls: tuple[Place, ...] = ()  # where the user's files call init_process_group


class ReductionEvidence(BaseRecord, frozen=True):
    """A DistributedDataParallel module and the parameters that its last backward pass left out."""

    model: str  # the user's name for it
    parameters: int  # in all
    trainable: int
    left_out: tuple[str, ...] = ()  # names of parameters that got no gradient
    differs: str = ""  # the parameter whose size is another one on rank 0
    ready_twice: str = ""  # the parameter whose gradient came twice
    loss: str = ""  # the variable whose graph confirms it
    held: tuple[str, ...] = ()  # other variables whose graph does reach parameters that were left out
    find_unused: bool = False
    checkpoints: tuple[Place, ...] = ()  # calls of torch.utils.checkpoint in the user's files
    wrapped_at: Place = Place()  # the line that calls DistributedDataParallel, where it is the only one


class ChildFrame(BaseRecord, frozen=True):
    """A line of the traceback that another process left behind as text."""

    file: str
    line: int
    function: str
    code: str
    user: bool


class ChildEvidence(BaseRecord, frozen=True):
    """A process that this one started and that failed."""

    index: int | None = None  # the rank, by the count of mp.spawn
    kind: str = ""
    message: str = ""
    frames: tuple[ChildFrame, ...] = ()
    signal: str = ""  # SIGKILL
    exit_code: int | None = None


class CompileEvidence(BaseRecord, frozen=True):
    """What a compiler of torch's was asked to do with the user's code, and where it stopped."""

    stage: str  # graph break | fake tensors | backend | recompiling | running | export | ...
    told: str  # in the compiler's words, one sentence
    place: Place  # the user's line that it stopped at
    hints: tuple[str, ...] = ()
    region: str = ""  # what is compiled: model, train_step
    backend: str = ""
    inner: str = ""  # the exception of the backend: InvalidCxxCompiler
    fullgraph: Place = Place()  # the line with fullgraph=True, where there is only one
    choices: tuple[str, ...] = ()  # the backends there are, where an unknown one was named
    limit: int | None = None  # compilations of one function
    eager: str = ""  # runs | fails: the same call without the compiler; empty where it was not tried


class ProcessEvidence(BaseRecord, frozen=True):
    """Process groups, ranks and compiled regions at the moment of the crash."""

    group: GroupEvidence | None = None
    reduction: ReductionEvidence | None = None
    child: ChildEvidence | None = None
    compiled: CompileEvidence | None = None
