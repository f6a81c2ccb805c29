"""Process groups, ranks and compiled regions at the moment of the crash."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class GroupEvidence:
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


@dataclass(frozen=True, slots=True)
class ReductionEvidence:
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
    wrapped_at: Place = field(
        default_factory=Place
    )  # the line that calls DistributedDataParallel, where it is the only one


@dataclass(frozen=True, slots=True)
class ChildFrame:
    """A line of the traceback that another process left behind as text."""

    file: str
    line: int
    function: str
    code: str
    user: bool


@dataclass(frozen=True, slots=True)
class ChildEvidence:
    """A process that this one started and that failed."""

    index: int | None = None  # the rank, by the count of mp.spawn
    kind: str = ""
    message: str = ""
    frames: tuple[ChildFrame, ...] = ()
    signal: str = ""  # SIGKILL
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class CompileEvidence:
    """What a compiler of torch's was asked to do with the user's code, and where it stopped."""

    stage: str  # graph break | fake tensors | backend | recompiling | running | export | ...
    told: str  # in the compiler's words, one sentence
    place: Place  # the user's line that it stopped at
    hints: tuple[str, ...] = ()
    region: str = ""  # what is compiled: model, train_step
    backend: str = ""
    inner: str = ""  # the exception of the backend: InvalidCxxCompiler
    fullgraph: Place = field(default_factory=Place)  # the line with fullgraph=True, where there is only one
    choices: tuple[str, ...] = ()  # the backends there are, where an unknown one was named
    limit: int | None = None  # compilations of one function
    eager: str = ""  # runs | fails: the same call without the compiler; empty where it was not tried


@dataclass(frozen=True, slots=True)
class ProcessEvidence:
    """Process groups, ranks and compiled regions at the moment of the crash."""

    group: GroupEvidence | None = None
    reduction: ReductionEvidence | None = None
    child: ChildEvidence | None = None
    compiled: CompileEvidence | None = None
