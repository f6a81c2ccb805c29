"""The processes of a distributed run: who they are, and how each of them ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# The exit code after a SIGTERM, which torchrun and mp.spawn send to the other ranks when one has failed.
ASKED_TO_END = 143


@dataclass(frozen=True, slots=True)
class RankFact:
    """One rank. Told when its process is started, and again when its process group stands; the last holds."""

    rank: int
    local_rank: int
    world_size: int
    backend: str  # gloo, nccl, cpu:gloo,cuda:nccl; empty while there is no process group
    host: str
    pid: int
    sharded: bool = False  # it holds a part of the weights only: its norms are those of that part


@dataclass(frozen=True, slots=True)
class RankEnd:
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
