"""The processes of a distributed run: who they are, and how each of them ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch_debugger.records.base import BaseRecord
from torch_debugger.records.findings import Place

# The exit code after a SIGTERM, which torchrun and mp.spawn send to the other ranks when one has failed.
SIGTERM_EXIT_CODE = 143


class RankFact(BaseRecord, frozen=True):
    """One rank. Told when its process is started, and again when its process group stands; the last holds."""

    rank: int
    local_rank: int
    world_size: int
    backend: str  # gloo, nccl, cpu:gloo,cuda:nccl; empty while there is no process group
    host: str
    pid: int
    sharded: bool = False  # it holds a part of the weights only: its norms are those of that part


class RankEnd(BaseRecord, frozen=True):
    """How the process of a rank ended, told by the process that started it: also of one that was killed."""

    rank: int  # -1: told of the process alone, by a script that starts its ranks itself
    exit_code: int  # 128 + n for signal n, as shells say it
    ended: float  # seconds since the epoch
    steps: int = 0  # that were done by then, where that is known
    pid: int = 0  # where the rank is not told


def ranks_in_words(ranks: Iterable[int]) -> str:
    """rank 2; ranks 0-3; ranks 0, 2 and 5-7"""
    runs = stretches(sorted(set(ranks)))
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
    alone = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"rank {listed}" if alone else f"ranks {listed}"


def stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """0, 1, 2, 5 as (0, 2) and (5, 5): a thousand ranks are mostly one."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


# What one rank has at a step, so small that the ranks can be compared without asking each other.
class CalledModel(BaseRecord, frozen=True):
    """A model that was called to train on, and what it was given."""

    root: str  # the user's name for it
    role: str  # wrapper: it averages gradients | inner: a part of one that does | other
    call: Place  # the line that calls it
    inputs: tuple[int, ...]  # a checksum for each tensor, of all calls of the step


class GradientAverage(BaseRecord, frozen=True):
    """What makes the gradients of the ranks one: a DistributedDataParallel, FSDP, or lines of the user's."""

    kind: str  # DistributedDataParallel | FSDP | by hand
    name: str = ""  # the user's name for the wrapper
    made: Place = Place()  # the line that makes it
    ranks: int = 0  # among which it averages
    hooked: bool = False  # with a communication hook of the user's
    paused: bool = False  # the last backward was under no_sync()
    joins: bool = False  # within `with model.join()`: ranks may have different numbers of batches


class RankDigest(BaseRecord, frozen=True):
    """At the optimizer's step, before it changes anything; on steps that all ranks choose by their number."""

    step: int
    optimizer: int  # a number for it, in the order in which they were made
    average: GradientAverage | None  # None: nothing is known that should make these ranks equal
    names: tuple[str, ...]  # of some parameters; the same ones on all ranks that have the same model
    shapes: tuple[str, ...]
    weights: tuple[int, ...]  # a checksum each; none where a rank holds only its shard
    gradients: tuple[int, ...]  # -1: there is none
    norms: tuple[float, ...]  # of the weights
    rates: tuple[float, ...]  # the learning rates
    calls: tuple[CalledModel, ...]
    updates: int  # that this optimizer has made before
    backwards: int  # of the whole script, so far


# The collectives that one rank has called, in their order.
class CollectiveKind(BaseRecord, frozen=True):
    """A collective as one line calls it: what all ranks of the group must agree on, and the line."""

    op: str  # all_reduce
    shape: tuple[int, ...]
    dtype: str  # float32; empty for a barrier
    place: Place
    caller: Place = Place()  # the line that calls the user's function around it
    condition: Place = Place()  # an `if rank == 0:` around one of them


class CollectivesFact(BaseRecord, frozen=True):
    """Some calls of one process group, one after the other. DistributedDataParallel's own are not among them:
    no line of Python makes those."""

    group: str  # torch's name for it, the same on all its ranks
    # Its members, as ranks of the whole run: the first and the last of each stretch. Every rank tells them once
    # a second; lists of all would grow with the square of their number.
    ranks: tuple[tuple[int, int], ...]
    first: int  # the number of the first call told here, from 1
    calls: tuple[int, ...]  # for each an index into `kinds`
    kinds: tuple[CollectiveKind, ...]
    step: int


# A training that stands still: who stands where, and what each of them waits for.

# What a thread waits in. The first ones hang by themselves; of the last ones others are the cause, or the user.
COLLECTIVE, LOADER, LOCK, EVENT, READ, INPUT = "collective", "loader", "lock", "event", "read", "input"
PROCESS, EXIT, LOOP, CALL, SLEEP, CHILDREN = "process", "exit", "loop", "call", "sleep", "children"
ENDED = "ended"  # the script is over


class StackLine(BaseRecord, frozen=True):
    """One line of a stack."""

    place: Place
    function: str
    is_users: bool


class Standing(BaseRecord, frozen=True):
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


class GroupState(BaseRecord, frozen=True):
    """One process group, as this rank sees it."""

    name: str
    backend: str
    ranks: tuple[int, ...]
    sequence: int  # collectives that this rank has begun in it; -1: not known


class HangFact(BaseRecord, frozen=True):
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


class HangOver(BaseRecord, frozen=True):
    """It goes on after all."""

    rank: int | None
    step: int
    still_s: float
