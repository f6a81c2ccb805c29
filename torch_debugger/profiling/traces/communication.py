"""What a process of a distributed training computed and communicated, and where both went on at once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from torch_debugger.profiling.traces.gathering import Gathered
from torch_debugger.profiling.traces.header import Header
from torch_debugger.profiling.traces.intervals import Cover, Interval
from torch_debugger.profiling.traces.operators import is_kernel
from torch_debugger.profiling.traces.step_parts import Window, host_collectives
from torch_debugger.records import TracedCollective, TracedRank

_NAMED = re.compile(r"(?:nccl|gloo|mpi|ucc):(\w+)")
_KERNEL = re.compile(
    r"nccl(?:Dev)?Kernel_?(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AllToAll)?"
)
_RANK_IN_NAME = re.compile(r"(?:^|[._-])rank[._-]?(\d{1,6})(?:[._-]|$)", re.IGNORECASE)
_MOST = 100


def rank_of(gathered: Gathered, header: Header, file: str, name: str, windows: list[Window]) -> TracedRank:
    computing, communicating = Cover(_computing(gathered)), Cover(_communicating(gathered))
    both = computing.with_(communicating.intervals)
    busy = [_within(cover, windows) for cover in (computing, communicating)]
    together, whole = _within(both, windows), sum(ended - began for _, began, ended in windows)
    overlap = busy[0] + busy[1] - together
    each = 1e9 * max(1, len(windows))
    return TracedRank(
        file,
        header.rank if header.rank >= 0 else _rank_in(name),
        header.world_size,
        header.backend,
        header.device_name or ("cuda" if gathered.works else "cpu"),
        len(windows),
        whole / each,
        (busy[0] - overlap) / each,
        overlap / each,
        (busy[1] - overlap) / each,
        (whole - together) / each,
    )


def _within(cover: Cover, windows: list[Window]) -> int:
    return sum(cover.within(began, ended) for _, began, ended in windows)


def _rank_in(name: str) -> int:
    found = _RANK_IN_NAME.search(name)
    return int(found[1]) if found is not None else 0


def _computing(gathered: Gathered) -> Iterable[Interval]:
    """Kernels that do not communicate; without a device, the operators outside of collectives."""
    if gathered.works:
        works = (each for each in gathered.works if is_kernel(each) and not each.is_collective)
        return [(each.began_ns, each.ended_ns) for each in works]
    waits = ("record_param_comms", "c10d::")
    return [
        (each.began_ns, each.ended_ns)
        for each in gathered.ops
        if each.parent is None and not each.name.startswith(waits)
    ]


def _communicating(gathered: Gathered) -> Iterable[Interval]:
    if gathered.works:
        return [(each.began_ns, each.ended_ns) for each in gathered.works if each.is_collective]
    return host_collectives(gathered)


def collectives(gathered: Gathered) -> tuple[TracedCollective, ...]:
    """By name. Bytes are those of the first input of each call, where shapes were recorded."""
    found: dict[str, tuple[int, int]] = {}
    if any(work.is_collective for work in gathered.works):
        for work in gathered.works:
            if work.is_collective:
                named = _KERNEL.search(work.name)
                name = named[1] if named is not None and named[1] else work.name[:80]
                calls, took = found.get(name, (0, 0))
                found[name] = calls + 1, took + work.ended_ns - work.began_ns
    else:
        for each in gathered.stretches:
            named = _NAMED.match(each.name)
            if named is not None and each.device < 0:
                calls, took = found.get(named[1], (0, 0))
                found[named[1]] = calls + 1, took + each.ended_ns - each.began_ns
    sizes = _sizes(gathered)
    rows = [
        TracedCollective(name, calls, took / 1e9, sizes.get(_plain(name), 0))
        for name, (calls, took) in found.items()
    ]
    return tuple(sorted(rows, key=lambda each: -each.total_s)[:_MOST])


def _sizes(gathered: Gathered) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for op in gathered.ops:
        if op.name.startswith("c10d::"):
            first = re.match(r"\[\[+([\d, ]*)\]", op.shapes)
            numbers = [int(each) for each in first[1].split(",") if each.strip()] if first else [0]
            elements = math.prod(numbers)
            name = _plain(op.name.removeprefix("c10d::"))
            sizes[name] = sizes.get(name, 0) + elements * 4  # the list of tensors hides its dtype
    return sizes


def _plain(name: str) -> str:
    """all_reduce, allreduce_ and AllReduce are one."""
    return name.lower().replace("_", "")
