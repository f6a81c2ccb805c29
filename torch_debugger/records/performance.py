"""Where the time of a few steps went, which were profiled closely. Seconds are sums over all of them."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord
from torch_debugger.records.findings import Place


class LineTime(BaseRecord, frozen=True):
    """One line of the user's: the host's time in it and below it, as far as that is no line of the user's. The
    backward of what it computed is told with it, and not with the line that calls backward()."""

    place: Place
    host_s: float
    device_s: float  # of what it put on the device, with the backward of that
    backward_s: float  # of the host, in the backward of what it computed
    passes: int


class ModuleTime(BaseRecord, frozen=True):
    """One module with everything in it."""

    module: str  # net.layers.0
    kind: str
    calls: int
    forward_s: float
    backward_s: float
    device_forward_s: float
    device_backward_s: float


class OpTime(BaseRecord, frozen=True):
    op: str  # aten::addmm
    calls: int
    host_s: float  # without what it called
    device_s: float
    shapes: str  # of the call that took longest


class SyncTime(BaseRecord, frozen=True):
    """A line at which the host waited for the device."""

    place: Place
    op: str  # aten::item
    count: int
    wait_s: float
    lost_s: float = 0.0  # of the device, which had nothing to do afterwards; for each wait at most its length


class CopyTime(BaseRecord, frozen=True):
    """Copies between host and device from one line."""

    place: Place
    way: str  # host to device | device to host
    pinned: bool
    count: int
    size_bytes: int
    device_s: float


class ProductTime(BaseRecord, frozen=True):
    """Matrix products or convolutions of one form on a device, from one line; those of the backward too."""

    op: str  # aten::addmm, aten::cudnn_convolution
    dtype: str  # float32
    shapes: str  # of what it was given
    place: Place  # the line of the forward
    calls: int
    device_s: float

    @property
    def is_convolution(self) -> bool:
        return "conv" in self.op


class ProfileFact(BaseRecord, frozen=True):
    first_step: int
    steps: int
    wall_s: float
    on_device: bool
    device_busy_s: float
    kernels: int
    gap_s: float  # of the device between kernels, with the host on its way
    lines: tuple[LineTime, ...]  # the dearest first
    modules: tuple[ModuleTime, ...]  # in the order of their first call
    ops: tuple[OpTime, ...]
    syncs: tuple[SyncTime, ...]
    copies: tuple[CopyTime, ...]
    cost_s: float  # of reading what came, beside what the steps took longer
    plain_s: float  # what a step took before the window; 0 if that is not known
    trace: str = ""  # the file of the whole trace, if one was written
    products: tuple[ProductTime, ...] = ()  # of the device; the dearest first
    launches: int = 0  # calls of the host that started kernels; a CUDA graph has one for all of its own
    peak_bytes: int = 0  # of the device's memory, since the run began
    layout_s: float = 0.0  # of the device, in which cuDNN put tensors into another order and back


# What a trace of torch.profiler says, as tables: steps and their parts, operators, kernels, memory, ranks.

# The parts of a step. Where several things went on at once, the first of them counts.
KERNEL, MEMCPY, MEMSET, COMMUNICATION = "kernel", "memcpy", "memset", "communication"
RUNTIME, DATALOADER, CPU, OTHER = "runtime", "dataloader", "cpu exec", "other"
STEP_PARTS = (KERNEL, MEMCPY, MEMSET, COMMUNICATION, RUNTIME, DATALOADER, CPU, OTHER)


class TracedStep(BaseRecord, frozen=True):
    number: int  # as the profiler counts: from 0 on
    began_s: float  # since the trace began
    took_s: float
    parts: dict[str, float]  # seconds; together they are the step


class TracedOp(BaseRecord, frozen=True):
    """Calls of an operator, all of them or those with inputs of one shape. Seconds are sums over the trace."""

    name: str
    shapes: str  # of its inputs; empty where calls of all shapes are together
    calls: int
    host_self_s: float  # without the operators that it called
    host_s: float
    device_self_s: float  # of what it started on the device itself
    device_s: float  # with what the operators it called have started


class TracedKernel(BaseRecord, frozen=True):
    name: str
    op: str  # the operator that started it most often
    calls: int
    total_s: float
    shortest_s: float
    longest_s: float
    blocks_per_sm: float  # mean, by time
    occupancy: float  # estimated, a share; mean, by time
    tensor_cores: bool  # by its name


class TracedAllocations(BaseRecord, frozen=True):
    """What an operator asked of torch's allocator by itself."""

    op: str
    device: str  # cpu, cuda:0
    allocations: int
    allocated_bytes: int
    grown_bytes: int  # allocated and not given back while the operator ran


class TracedCollective(BaseRecord, frozen=True):
    name: str  # all_reduce, or the kernel where that is all that is known
    calls: int
    total_s: float
    size_bytes: int  # that went in; 0 where the trace does not say


class TracedRank(BaseRecord, frozen=True):
    """One process of a distributed training: what its device did in the mean step, in seconds."""

    file: str
    rank: int
    world_size: int
    backend: str  # nccl; empty where the trace does not say
    device: str
    steps: int
    step_s: float
    computing_s: float  # and not communicating
    overlap_s: float  # both at once
    communicating_s: float  # and not computing
    other_s: float  # neither


class TracedDevice(BaseRecord, frozen=True):
    """How well a GPU was used; shares."""

    name: str
    busy: float
    sm_efficiency: float  # estimated: of the time of the steps, weighted by blocks for each multiprocessor
    occupancy: float  # estimated: of the time of the kernels
    tensor_cores: float  # of the time of the kernels, those that use tensor cores


class TracedStack(BaseRecord, frozen=True):
    """A function in the tree of Python calls; a parent stands before those that it called."""

    parent: int  # index; -1 for the outermost
    name: str
    total_s: float
    calls: int


class TracedMoments(BaseRecord, frozen=True):
    """Memory over the time of the trace, a curve for each device."""

    moments_s: tuple[float, ...]  # since the trace began
    allocated_bytes: dict[str, tuple[int, ...]]
    reserved_bytes: dict[str, tuple[int, ...]]  # nothing on a CPU, where torch reserves none
    peak_bytes: dict[str, int]
    peak_s: dict[str, float]  # when


class TracedTraining(BaseRecord, frozen=True):
    """What a trace tells of the steps of a training, for the advice on speed."""

    device: str  # cpu | cuda
    steps: int
    step_s: float
    seconds: dict[str, float]  # of all steps together: data_wait, forward, backward, optimizer, other
    loader_workers: bool | None  # None: no DataLoader was waited for, or it is not known which kind
    loader_at: Place = Place()  # the function that takes the batches


class TraceReport(BaseRecord, frozen=True):
    file: str
    steps: tuple[TracedStep, ...]
    wall_s: float  # of all steps; of the whole trace where it has none
    profile: ProfileFact
    device: TracedDevice | None
    ops: tuple[TracedOp, ...]
    ops_by_shape: tuple[TracedOp, ...]  # empty without record_shapes=True
    kernels: tuple[TracedKernel, ...]
    collectives: tuple[TracedCollective, ...]
    rank: TracedRank
    memory: TracedMoments | None  # None without profile_memory=True
    allocations: tuple[TracedAllocations, ...]
    stacks: tuple[TracedStack, ...]  # empty without with_stack=True
    training: TracedTraining
    notes: tuple[str, ...]  # what is missing in it, and why

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by part, in the mean step."""
        names = [name for name in STEP_PARTS if any(step.parts.get(name) for step in self.steps)]
        count = max(1, len(self.steps))
        return {name: sum(step.parts.get(name, 0.0) for step in self.steps) / count for name in names}

    @property
    def step_s(self) -> float:
        return self.wall_s / max(1, len(self.steps))


# What decides how fast a training can be: where its Python is, and what torch was told.
class StackNode(BaseRecord, frozen=True):
    """A line that stacks went through, below another one. A frame of a library is told as a whole: by the file
    and the first line of its function, without code."""

    parent: int  # index of the node that called it; -1 for the outermost
    function: str
    place: Place
    is_users: bool
    samples: int  # of stacks that ended here
    total: int  # of stacks that went through here
    loops: tuple[Place, ...] = ()  # around a line of the user's, in its function; the innermost first
    condition: int = 0  # the line of the innermost condition that it runs under; 0 where there is none


class SampledStacks(BaseRecord, frozen=True):
    """Where one thread's Python was, asked again and again. Sums since the run began; the last one holds."""

    who: str  # "training" is the thread that trains; loaders have "worker 0" and so on
    samples: int
    period_s: float
    step: int
    nodes: tuple[StackNode, ...]  # a parent always before those it called

    def users_line(self, number: int) -> int | None:
        """The innermost line of the user's at this node or above it."""
        while number >= 0 and not self.nodes[number].is_users:
            number = self.nodes[number].parent
        return number if number >= 0 else None


class TakenRows(BaseRecord, frozen=True):
    """A tensor that a loop takes apart."""

    name: str  # the user's: x, self.memory
    shape: tuple[int, ...]
    dim: int


class RowPasses(BaseRecord, frozen=True):
    """A loop over the rows of tensors, whose passes do not need each other, as it went in one step."""

    place: Place  # its first line
    last: int  # line
    taken: tuple[TakenRows, ...]
    passes: int  # in that step; no more than the first 2000 are counted
    sums_up: bool  # adds what the passes give to one number
    is_differentiated: bool
    step: int


class SpeedSettings(BaseRecord, frozen=True):
    """Switches of torch and what the machine has, once the first steps are over."""

    device: str  # cpu | cuda
    device_name: str
    capability: tuple[int, int]  # of a CUDA device; (0, 0) elsewhere
    cores: int  # that this process may use
    threads: int  # of torch, within an op
    tf32_matmul: bool
    tf32_cudnn: bool
    cudnn_benchmark: bool
    deterministic: bool
    anomaly_mode: bool
    step: int
    anomaly_at: Place = Place()  # the line that switches it on
    threads_at: Place = Place()  # the line that sets their number
    device_bytes: int = 0  # of the device's memory, all of it


class Compilation(BaseRecord, frozen=True):
    """One time that torch.compile has compiled a function, or has tried to."""

    frame: int  # torch's number of the function; the parts of one that was cut have numbers of their own
    again: int  # 0 for the first time
    function: str
    place: Place  # its first line; of a part of a function: the line at which that was cut
    is_part: bool
    seconds: float
    reason: str  # why again, or why it was cut or given up; empty otherwise
    reason_place: Place  # the user's line that the reason names
    given_up: bool  # it runs uncompiled
    step: int


# What the memory of a training is used for, at one moment of a step.

# The same words in a rehearsal, in a look at a running training, in reports and on the page.
PARAMETERS, BUFFERS, GRADIENTS, STATE = "parameters", "buffers", "gradients", "optimizer state"
ACTIVATIONS, COPIES, INPUTS, TENSORS = "activations", "weight copies", "inputs", "tensors"
TEMPORARIES, WORKSPACE = "temporaries", "workspace"
KEPT, VARIABLES, WATCHER = "kept from earlier steps", "other variables", "torch-debugger"
REST, CACHE, OTHERS = "rest", "cache", "CUDA and other processes"

BEFORE_BACKWARD, AFTER_UPDATE = "before backward", "after the update"


class SavedByModule(BaseRecord, frozen=True):
    path: str  # net.blocks.3.attention; empty for what was computed outside of any module
    size_bytes: int  # kept for its backward, that of modules in it not included


class HeldByVariable(BaseRecord, frozen=True):
    name: str  # features, self.history
    size_bytes: int  # its tensors, and what their graphs keep
    count: int  # of its tensors
    grown: bool = False  # since it was first seen, and nothing keeps it from growing on
    since: int = 0  # the step at which the first of its tensors was first seen there
    place: Place = Place()  # the statement that adds to it, where it has grown
    added: str = ""  # and what that adds


class MemoryLook(BaseRecord, frozen=True):
    """Bytes on one device by what they are for; every storage counts once."""

    step: int
    device: str  # cpu, cuda:0
    moment: str  # before backward | after the update
    parts: dict[str, int]  # in use by tensors; the rest of what torch's allocator counts among them
    modules: tuple[SavedByModule, ...] = ()  # of the activations, the largest first
    variables: tuple[HeldByVariable, ...] = ()  # the largest first
    allocated_bytes: int = 0  # as torch counts, of a CUDA device
    peak_bytes: int = 0  # the highest of those so far
    cache_bytes: int = 0  # reserved by torch and not in use
    other_bytes: int = 0  # of the device, in use by CUDA itself and by other processes
    total_bytes: int = 0  # of the device
    whole: bool = True  # False: what autograd keeps could not be read, or only some of it

    @property
    def used_bytes(self) -> int:
        return sum(self.parts.values())


# What is in memory at one moment, and which lines, modules and variables it belongs to.
class MemorySpot(BaseRecord, frozen=True):
    """Storages that belong together: made by one line, of one kind, held by one name."""

    place: Place  # the line that made them, as far as it is known, and the module that ran or holds them
    category: str  # one of the words above; of a block that nobody knows, "allocated" and the like
    name: str  # of the variable, list or parameter that holds them; empty where no name leads to them
    device: str  # cpu, cuda:0
    size_bytes: int
    count: int  # storages, each counted once however many views it has


class DeviceMemory(BaseRecord, frozen=True):
    device: str
    used_bytes: int  # by storages that live
    reserved_bytes: int  # taken from the device, with what lies free in torch's cache; 0 where nobody knows
    peak_bytes: int  # the most that was used at once in what was recorded; 0 where nothing was


class MemorySnapshot(BaseRecord, frozen=True):
    source: str  # live tensors | recorded tensors | allocator history | allocator
    devices: tuple[DeviceMemory, ...]
    spots: tuple[MemorySpot, ...]  # the largest first
    at_peak: tuple[MemorySpot, ...]  # the same for the moment of the peak; empty without a history
    curve_bytes: tuple[int, ...]  # used over the history, thinned, its peak kept
    notes: tuple[str, ...]  # what could not be told, and why


class TracedMemory(BaseRecord, frozen=True):
    """What torch's allocators had given out over the time of a profiler's trace, thinned, peaks kept."""

    moments_ms: tuple[float, ...]
    used_bytes: dict[str, tuple[int, ...]]  # by device, one number a moment
    peak_bytes: dict[str, int]
