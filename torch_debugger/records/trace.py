"""What a trace of torch.profiler says, as tables: steps and their parts, operators, kernels, memory, ranks."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place
from torch_debugger.records.profile import ProfileFact

# The parts of a step. Where several things went on at once, the first of them counts.
KERNEL, MEMCPY, MEMSET, COMMUNICATION = "kernel", "memcpy", "memset", "communication"
RUNTIME, DATALOADER, CPU, OTHER = "runtime", "dataloader", "cpu exec", "other"
STEP_PARTS = (KERNEL, MEMCPY, MEMSET, COMMUNICATION, RUNTIME, DATALOADER, CPU, OTHER)


@dataclass(frozen=True, slots=True)
class TracedStep:
    number: int  # as the profiler counts: from 0 on
    began_s: float  # since the trace began
    took_s: float
    parts: dict[str, float]  # seconds; together they are the step


@dataclass(frozen=True, slots=True)
class TracedOp:
    """Calls of an operator, all of them or those with inputs of one shape. Seconds are sums over the trace."""

    name: str
    shapes: str  # of its inputs; empty where calls of all shapes are together
    calls: int
    host_self_s: float  # without the operators that it called
    host_s: float
    device_self_s: float  # of what it started on the device itself
    device_s: float  # with what the operators it called have started


@dataclass(frozen=True, slots=True)
class TracedKernel:
    name: str
    op: str  # the operator that started it most often
    calls: int
    total_s: float
    shortest_s: float
    longest_s: float
    blocks_per_sm: float  # mean, by time
    occupancy: float  # estimated, a share; mean, by time
    tensor_cores: bool  # by its name


@dataclass(frozen=True, slots=True)
class TracedAllocations:
    """What an operator asked of torch's allocator by itself."""

    op: str
    device: str  # cpu, cuda:0
    allocations: int
    allocated_bytes: int
    grown_bytes: int  # allocated and not given back while the operator ran


@dataclass(frozen=True, slots=True)
class TracedCollective:
    name: str  # all_reduce, or the kernel where that is all that is known
    calls: int
    total_s: float
    size_bytes: int  # that went in; 0 where the trace does not say


@dataclass(frozen=True, slots=True)
class TracedRank:
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


@dataclass(frozen=True, slots=True)
class TracedDevice:
    """How well a GPU was used; shares."""

    name: str
    busy: float
    sm_efficiency: float  # estimated: of the time of the steps, weighted by blocks for each multiprocessor
    occupancy: float  # estimated: of the time of the kernels
    tensor_cores: float  # of the time of the kernels, those that use tensor cores


@dataclass(frozen=True, slots=True)
class TracedStack:
    """A function in the tree of Python calls; a parent stands before those that it called."""

    parent: int  # index; -1 for the outermost
    name: str
    total_s: float
    calls: int


@dataclass(frozen=True, slots=True)
class TracedMoments:
    """Memory over the time of the trace, a curve for each device."""

    moments_s: tuple[float, ...]  # since the trace began
    allocated_bytes: dict[str, tuple[int, ...]]
    reserved_bytes: dict[str, tuple[int, ...]]  # nothing on a CPU, where torch reserves none
    peak_bytes: dict[str, int]
    peak_s: dict[str, float]  # when


@dataclass(frozen=True, slots=True)
class TracedTraining:
    """What a trace tells of the steps of a training, for the advice on speed."""

    device: str  # cpu | cuda
    steps: int
    step_s: float
    seconds: dict[str, float]  # of all steps together: data_wait, forward, backward, optimizer, other
    loader_workers: bool | None  # None: no DataLoader was waited for, or it is not known which kind
    loader_at: Place = field(default_factory=Place)  # the function that takes the batches


@dataclass(frozen=True, slots=True)
class TraceReport:
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
