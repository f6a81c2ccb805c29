"""What decides how fast a training can be: where its Python is, and what torch was told."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class StackNode:
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


@dataclass(frozen=True, slots=True)
class SampledStacks:
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


@dataclass(frozen=True, slots=True)
class TakenRows:
    """A tensor that a loop takes apart."""

    name: str  # the user's: x, self.memory
    shape: tuple[int, ...]
    dim: int


@dataclass(frozen=True, slots=True)
class RowPasses:
    """A loop over the rows of tensors, whose passes do not need each other, as it went in one step."""

    place: Place  # its first line
    last: int  # line
    taken: tuple[TakenRows, ...]
    passes: int  # in that step; no more than the first 2000 are counted
    sums_up: bool  # adds what the passes give to one number
    is_differentiated: bool
    step: int


@dataclass(frozen=True, slots=True)
class SpeedSettings:
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
    anomaly_at: Place = field(default_factory=Place)  # the line that switches it on
    threads_at: Place = field(default_factory=Place)  # the line that sets their number
    device_bytes: int = 0  # of the device's memory, all of it


@dataclass(frozen=True, slots=True)
class Compilation:
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
