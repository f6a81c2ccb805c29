"""Whether this process was started as one rank of several, and what they all know without asking each other."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

from torch_debugger.runlog.logfile import rank_of_process


@dataclass(frozen=True)
class RankLaunch:
    """One rank, as torchrun (or whoever sets the same variables) started it."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int  # ranks on this machine; 0: not told
    run_id: str  # of torchrun; empty where there is none, or one that all runs share
    restart: int  # how often torchrun has started the ranks anew
    address: str  # of rank 0, where all ranks meet
    starter: str  # the process that started the ranks of this machine, and when it began
    started: float  # the same moment, in seconds since the epoch
    by_torchrun: bool

    @property
    def is_first(self) -> bool:
        """The one that reports for all."""
        return self.rank == 0

    @property
    def leads_machine(self) -> bool:
        return self.local_rank == 0

    @property
    def is_on_one_machine(self) -> bool:
        """Where nobody says how many ranks a machine has, the process that started them stands for it."""
        return self.local_world_size in (0, self.world_size)

    @property
    def identity(self) -> str:
        """The same for all ranks of one run, and no other run's."""
        whose = self.starter if self.is_on_one_machine else f"{self.run_id or self.address}"
        return f"{whose} restart {self.restart}"

    @property
    def neighbours(self) -> frozenset[int]:
        """The other ranks of this machine, as far as is told: torchrun numbers them one after the other."""
        first = self.rank - self.local_rank
        return frozenset(range(first, first + self.local_world_size)) - {self.rank}


def rank_launch() -> RankLaunch | None:
    """None for a program of one process."""
    rank = rank_of_process()
    if rank is None:
        return None
    around = os.environ
    run_id = around.get("TORCHELASTIC_RUN_ID", "")
    starter, started = _starter()
    return RankLaunch(
        rank=rank,
        local_rank=_whole_number(around, "LOCAL_RANK", rank),
        world_size=_whole_number(around, "WORLD_SIZE", 1),
        local_world_size=_whole_number(around, "LOCAL_WORLD_SIZE", 0),
        run_id="" if run_id == "none" else re.sub(r"[^A-Za-z0-9_.-]", "_", run_id),
        restart=_whole_number(around, "TORCHELASTIC_RESTART_COUNT", 0),
        address=f"{around.get('MASTER_ADDR', '')}:{around.get('MASTER_PORT', '')}",
        starter=starter,
        started=started,
        by_torchrun=bool(run_id),
    )


def _starter() -> tuple[str, float]:
    try:
        began = psutil.Process(os.getppid()).create_time()
    except (psutil.Error, OSError):  # it has gone, or is hidden from us
        began = 0.0
    return f"{socket.gethostname()} {os.getppid()} {began:.2f}", began


def _whole_number(around: Mapping[str, str], name: str, otherwise: int) -> int:
    text = around.get(name, "")
    return int(text) if text.isdecimal() else otherwise
