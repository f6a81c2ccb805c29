"""Facts of the data: what loaders deliver, what goes into the first layer, what the loss compares with."""

from __future__ import annotations

from typing import ClassVar

from torch_debugger.records.base import BaseRecord
from torch_debugger.records.findings import Place


class TensorLook(BaseRecord, frozen=True):
    """One tensor of a batch. `samples` holds a digest for each of its first samples."""

    name: str  # batch[0], batch["labels"]
    shape: tuple[int, ...]
    dtype: str
    samples: tuple[int, ...]  # empty for labels
    labels: tuple[int, ...] = ()  # the first ones of a tensor of whole numbers, one for each sample
    std: float = 0.0  # of the numbers that were looked at
    lowest: int = 0  # of all labels of the batch
    highest: int = 0
    varied: bool = False  # nearly all of its numbers differ: two equal samples are one


class BatchLook(BaseRecord, frozen=True):
    """A batch that a DataLoader delivered: the first ones of every loader, later those of deep steps."""

    loader: int  # LoaderFact.number
    iteration: int  # the how-manieth iter(loader), from 1
    index: int  # of the batch in this iteration, from 0
    trained: bool  # a backward() was called before the next batch came
    tensors: tuple[TensorLook, ...]
    step: int


class InputLook(BaseRecord, frozen=True):
    """Data as it reaches a layer that learns, with no other such layer before it (deep steps)."""

    layer: str  # net.conv1
    kind: str  # Conv2d
    shape: tuple[int, ...]
    dtype: str
    viewed: tuple[int, ...]  # the shape of the tensor that it is a view of in the same order; else empty
    minimum: float
    maximum: float
    mean: float
    std: float
    column: int  # of a table: the one with the largest values, else -1
    column_rms: float  # root of the mean square in it
    samples: tuple[int, ...]  # as in TensorLook; empty on a device
    call: Place  # the line that calls the model
    step: int
    viewed_at: Place = Place()  # the call of view() or reshape(), if it can be told
    tensors: int = 1  # that the model was given in all
    repeated_at: Place = Place()  # where all samples are equal: a line with [row] * n
    measured: int = 0  # how many of its numbers these were taken of; 0: not known
    not_finite: int | None = None  # among those; None: not counted


class RootInput(BaseRecord, frozen=True):
    """The numbers that a model was given, in training (on deep steps) and where no gradient is wanted."""

    root: str
    trained: bool
    shape: tuple[int, ...]
    mean: float
    std: float
    call: Place  # the line that calls the model
    step: int


class TargetLook(BaseRecord, frozen=True):
    """What a loss function compares the model with (deep steps and a few others)."""

    site: str  # LossSite.name
    op: str  # NllLoss, BinaryCrossEntropyWithLogits
    shape: tuple[int, ...]
    dtype: str
    labels: dict[str, int]  # class -> how often; empty where there are no classes
    copied_to: tuple[int, ...]  # on deep steps: columns of the first layer's input that equal the target
    step: int
    made: Place = Place()  # the line that computes the loss


class ShuffledPair(BaseRecord, frozen=True):
    """Two arrays that the source reads side by side, of which a line puts one into an order of its own."""

    first: str  # x
    second: str  # y
    both: bool  # each has an order of its own; else only the first was shuffled
    place: Place  # the line that shuffles, or reads the second
    step: int
    index: str = ""  # the first is read with this shuffled index, and the second is not


class CopiedGenerator(BaseRecord, frozen=True):
    """A random generator that a dataset keeps and draws from, in a loader that copies it into its workers."""

    loader: int  # LoaderFact.number
    workers: int
    owner: str  # the class that keeps it
    attribute: str
    kind: str  # Generator, RandomState, Random
    place: Place  # the line that makes it
    drawn: Place  # the first line that draws from it
    step: int


class FixedDraw(BaseRecord, frozen=True):
    """A function of the user's that the training loop calls, and that starts from one seed at every call."""

    function: str  # get_batch
    each: str  # step: it draws a batch | epoch: it draws an order
    seed: Place  # the line that seeds
    call: Place  # the line that calls it
    step: int


# A few samples of a batch, as the model and the loss were given them.
class BatchSample(BaseRecord, frozen=True):
    """One tensor of a batch: its first samples, made small, with the numbers that tell how it was."""

    step: int
    role: str  # input | target
    root: str  # the model that was given it; for a target, the loss
    name: str  # of the parameter of forward(), or the loss function
    kind: str  # image | mask | series | tokens | vectors | values
    shape: tuple[int, ...]  # of the whole tensor
    dtype: str
    low: float  # of these samples, of what is finite in them
    high: float
    mean: float  # of the same, NaN included
    std: float
    not_finite: int  # among the numbers that are kept here
    kept: tuple[int, ...]  # the shape of what is kept, samples first; pictures and series: channels second
    data: str  # base64 of zlib: float32; of pictures uint8, 0 to 254 from low to high, 255 where not finite
    note: str = ""  # what was done to show it, beyond taking the first of everything
    padding: int | None = None  # the token that fills up rows, or the target that does not count
    without_text: ClassVar[bool] = True  # nothing in it can be a secret by its name or form

    @property
    def nbytes(self) -> int:
        return len(self.data)


# What loading data costs a training: the waits for each DataLoader, and what its dataset holds.
class HeldData(BaseRecord, frozen=True):
    """An attribute of a dataset with one entry for each sample."""

    attribute: str
    kind: str  # list | ndarray | Tensor | DataFrame
    length: int
    entry: str  # the kind of its entries: list, float, ndarray; empty for arrays and tensors
    entry_bytes: int = 0  # of arrays and tensors
    objects_bytes: int = 0  # of the Python objects in a list, all of them, about


class LoadingTime(BaseRecord, frozen=True):
    """How long one DataLoader is waited for. Since the run began; the last one holds."""

    loader: int  # LoaderFact.number
    step: int
    batches: int  # taken to train on, the first ones left out
    elapsed_s: float  # while they were
    wait_s: float  # for one of them: the mean without the slowest twentieth
    wait_cpu_s: float  # of which the training thread computed; 0 where workers load
    cpu_s: float  # that this process computed meanwhile, all threads
    stretch: float  # how often longer its computing took, because every core was busy; 1 where that is not known
    workers_cpu_s: float | None  # that its workers computed; None: the system does not tell
    workers_queued_s: float  # that they stood in line for a core
    worker_threads: int  # most threads that a worker had; 0: not known
    passes: int  # begun after the first one
    passes_s: float  # from the first beginning to the last
    opening_s: float  # iter() and the first batch of a pass, with workers: the median
    closing_s: float  # until the workers of a pass have ended: the median
    on_device: bool  # the dataset makes its tensors on a GPU


class LineCost(BaseRecord, frozen=True):
    """A line of the user's that making a batch went through."""

    place: Place
    function: str
    seconds: float  # with all that it called
    depth: int  # lines of the user's around it


class LoadingLines(BaseRecord, frozen=True):
    """Where the time of making a batch goes, line by line, in some batches of a loader without workers. Sums
    since the run began; the last one holds."""

    loader: int  # LoaderFact.number
    step: int
    looks: int  # batches, or as much of them as was looked at
    seconds: float
    lines: tuple[LineCost, ...]  # the dearest, from the outermost inwards


# What the workers of DataLoaders do: how long each is at work, at which samples, and the memory it takes.
class WorkerTime(BaseRecord, frozen=True):
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


class WorkerTimes(BaseRecord, frozen=True):
    """The workers of one loader, side by side. Since the run began; the last one holds."""

    loader: int  # LoaderFact.number
    step: int
    elapsed_s: float  # of the passes, training included
    in_order: bool
    workers: tuple[WorkerTime, ...]


class SampleSeen(BaseRecord, frozen=True):
    """A sample that was being made, seen again and again while the training waited for its batch."""

    index: int | None  # that the dataset was asked for; None where it is a stream
    dataset: str  # the class that was asked
    seconds: float  # within a twentieth of a second
    place: Place  # the user's line that it was at most often
    function: str
    file: str = ""  # one that the line's function names, and that exists
    file_bytes: int = 0


class StalledBatch(BaseRecord, frozen=True):
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


class GrownContainer(BaseRecord, frozen=True):
    """A list, dictionary or set within reach of a worker's dataset that gets longer."""

    name: str  # self.cache, or CACHE of the module
    owner: str  # the class of the object; empty for a global variable
    kind: str  # list | dict | set | deque
    length_before: int  # when the worker began
    length: int
    entry_bytes: int  # of one of the new entries, about
    place: Place  # the line that adds to it, where the source shows one


class WorkerLook(BaseRecord, frozen=True):
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


class SharedHandle(BaseRecord, frozen=True):
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
