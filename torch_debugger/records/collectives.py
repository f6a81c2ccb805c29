"""The collectives that one rank has called, in their order."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class CollectiveKind:
    """A collective as one line calls it: what all ranks of the group must agree on, and the line."""

    op: str  # all_reduce
    shape: tuple[int, ...]
    dtype: str  # float32; empty for a barrier
    place: Place
    caller: Place = field(default_factory=Place)  # the line that calls the user's function around it
    condition: Place = field(default_factory=Place)  # an `if rank == 0:` around one of them


@dataclass(frozen=True, slots=True)
class CollectivesFact:
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
