"""Which rank this process is, as torch.distributed has it. Asking costs no communication."""

from __future__ import annotations

import os
import socket
from os import getpid

from torch import distributed

from torch_debugger.records import RankFact
from torch_debugger.stats.shards import shards_expected


def this_rank() -> RankFact | None:
    """None before the process group stands, and for a group of one."""
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    world_size = distributed.get_world_size()
    if world_size < 2:
        return None
    rank = distributed.get_rank()
    local = os.environ.get("LOCAL_RANK", "")
    return RankFact(
        rank=rank,
        local_rank=int(local) if local.isdecimal() else rank,
        world_size=world_size,
        backend=_backend(),
        host=socket.gethostname(),
        pid=getpid(),
        sharded=shards_expected(),
    )


def _backend() -> str:
    name = str(distributed.get_backend())
    return name if name != "undefined" else str(distributed.get_backend_config())
