"""A training that stands still: who stands where, and what each of them waits for."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place

# What a thread waits in. The first ones hang by themselves; of the last ones others are the cause, or the user.
COLLECTIVE, LOADER, LOCK, EVENT, READ, INPUT = "collective", "loader", "lock", "event", "read", "input"
PROCESS, EXIT, LOOP, CALL, SLEEP, CHILDREN = "process", "exit", "loop", "call", "sleep", "children"
ENDED = "ended"  # the script is over


@dataclass(frozen=True, slots=True)
class StackLine:
    """One line of a stack."""

    place: Place
    function: str
    is_users: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """One thread, or one process, and where it stands."""

    who: str  # training | worker 2 | thread pump
    pid: int
    is_alive: bool
    cpu_share: float  # of one core, while it was looked at; -1: not known
    wait: str  # the system call it is in, such as read or futex; empty: none, or not known
    target: str  # the file, pipe or socket of that call, where there is one
    lines: tuple[StackLine, ...]  # outermost first
    kind: str = ""  # what it waits in, where that is known

    @property
    def users_line(self) -> Place:
        """The innermost line of the user's."""
        return next((line.place for line in reversed(self.lines) if line.is_users), Place())


@dataclass(frozen=True, slots=True)
class GroupState:
    """One process group, as this rank sees it."""

    name: str
    backend: str
    ranks: tuple[int, ...]
    sequence: int  # collectives that this rank has begun in it; -1: not known


@dataclass(frozen=True, slots=True)
class HangFact:
    """What the training of one process is doing, told since it, or another rank, seems to stand still.

    The one that is `final` says: for longer than it ever took to go on. Others are told before it, so that
    everything is known of all ranks by the time that one of them is sure.
    """

    rank: int | None  # None: a program of one process
    world: int
    step: int
    final: bool
    still_s: float  # waiting at one line; 0: it computes
    expected_s: float  # what it was given
    slowest_s: float  # the longest so far between two signs of life; 0: there was none yet
    kind: str
    doing: str  # all_reduce, queue.get: what the library or the line is called
    place: Place  # the user's line
    call: str  # the expression of that line which does not return
    condition: Place  # the `if rank == 0:` around that line, where there is one
    shapes: tuple[str, ...]  # of the tensors given to the collective
    groups: tuple[GroupState, ...]
    batches: int  # that the loader under way has delivered; -1: no loader was seen
    batches_of: int  # of so many; -1: not known
    is_out_of_data: bool  # the last pass over a loader is complete
    worker: int  # of the loader, that is waited for; -1: none
    stacks: tuple[Standing, ...]
    policy: str  # warn | dump | abort
    recorded: tuple[str, ...] = ()  # collectives under way, as PyTorch's flight recorder has them


@dataclass(frozen=True, slots=True)
class HangOver:
    """It goes on after all."""

    rank: int | None
    step: int
    still_s: float
