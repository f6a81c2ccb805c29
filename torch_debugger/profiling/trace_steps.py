"""The steps of a trace, and what the time of each went to.

A step is over when the next one begins: a device works on what a step has started while the host goes on.
Of several things that went on at once the first in the list of parts counts, as in TensorBoard's profiler tab.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise

from torch_debugger.profiling.timeline import Op
from torch_debugger.profiling.trace_events import GatheredEvents, Stretch
from torch_debugger.profiling.trace_files import Header
from torch_debugger.profiling.trace_operators import is_kernel, is_operator
from torch_debugger.records import (
    OptimizerFact,
    Place,
    SpeedSettings,
    TracedCollective,
    TracedRank,
    TracedStep,
    TracedTraining,
)
from torch_debugger.records.performance import (
    COMMUNICATION,
    CPU,
    DATALOADER,
    KERNEL,
    MEMCPY,
    MEMSET,
    OTHER,
    RUNTIME,
    STEP_PARTS,
)

_LOADER = "enumerate(DataLoader)#"
_COLLECTIVES = ("nccl:", "gloo:", "mpi:", "ucc:")
_MOST_STEPS = 1000
Window = tuple[int, int, int]  # the step's number, from, to


def step_windows(gathered: GatheredEvents) -> list[Window]:
    steps = sorted(gathered.steps, key=lambda step: step[1])[:_MOST_STEPS]
    windows = [(number, began, following[1]) for (number, began, _), following in pairwise(steps)]
    if steps:
        number, began, ended = steps[-1]
        # What was started on a device before the last step was over on the host belongs to it.
        on_device = [work.ended_ns for work in gathered.works if work.op is not None and work.op.began_ns < ended]
        windows.append((number, began, max([ended, *on_device])))
    return windows


def traced_steps(gathered: GatheredEvents, began_ns: int) -> tuple[TracedStep, ...]:
    windows = step_windows(gathered)
    covers = _covers(gathered)
    found: list[TracedStep] = []
    for number, began, ended in windows:
        parts, before = {}, 0
        for name, cover in covers:
            covered = cover.within(began, ended)
            parts[name] = (covered - before) / 1e9
            before = covered
        parts[OTHER] = (ended - began - before) / 1e9
        found.append(TracedStep(number, (began - began_ns) / 1e9, (ended - began) / 1e9, parts))
    return tuple(found)


def _covers(gathered: GatheredEvents) -> list[tuple[str, Cover]]:
    """What each part covers together with all parts before it."""
    of: dict[str, list[Interval]] = {name: [] for name in STEP_PARTS}
    for work in gathered.works:
        if work.is_collective:
            part = COMMUNICATION
        else:
            part = MEMCPY if work.is_copy else MEMSET if work.name.startswith("Memset") else KERNEL
        of[part].append((work.began_ns, work.ended_ns))
    for op in gathered.ops:
        of[RUNTIME if op.is_runtime else CPU].append((op.began_ns, op.ended_ns))
    of[DATALOADER] = [(each.began_ns, each.ended_ns) for each in loader_waits(gathered)]
    of[COMMUNICATION] += host_collectives(gathered)
    covers: list[tuple[str, Cover]] = []
    cover = Cover()
    for name in STEP_PARTS[:-1]:
        cover = cover.with_(of[name])
        covers.append((name, cover))
    return covers


def loader_waits(gathered: GatheredEvents) -> list[Stretch]:
    """Where the training takes a batch from its DataLoader."""
    return [each for each in gathered.stretches if each.device < 0 and each.name.startswith(_LOADER)]


def host_collectives(gathered: GatheredEvents) -> list[Interval]:
    """Of backends that compute on the host. With a device, a host's stretch is no more than the launch."""
    if gathered.works:
        return []
    return [(each.began_ns, each.ended_ns) for each in gathered.stretches if each.name.startswith(_COLLECTIVES)]


# What a trace says of a training beside its operators: the wait for data, optimizers, switches of torch.
_UPDATE = re.compile(r"Optimizer\.step#(\w+)\.step")
_BACKWARD = "autograd::engine::evaluate_function: "
_FULL_PRECISION = re.compile(r"sgemm|f32f32_f32f32|simt")


def traced_training(
    gathered: GatheredEvents, windows: list[Window], place_at: Callable[[int], Place]
) -> TracedTraining:
    """Seconds of all steps. What lies in two parts counts for the first of them."""
    waits = loader_waits(gathered)
    # On a device from the first kernel of an update to its last; else on the host.
    updates = [each for each in gathered.stretches if _UPDATE.match(each.name)]
    updates = [each for each in updates if each.device >= 0] or updates
    ops = [op for op in gathered.ops if op.parent is None and is_operator(op)]
    backward = [op for op in gathered.ops if op.name.startswith(_BACKWARD)]
    parts = {
        "data_wait": [(each.began_ns, each.ended_ns) for each in waits],
        "optimizer": [(each.began_ns, each.ended_ns) for each in updates],
        "backward": [(op.began_ns, op.ended_ns) for op in backward],
        "forward": [(op.began_ns, op.ended_ns) for op in ops if op.thread == gathered.training_thread],
    }
    seconds, cover, before = {}, Cover(), 0.0
    whole_s = sum(ended - began for _, began, ended in windows) / 1e9
    for name, intervals in parts.items():
        cover = cover.with_(intervals)
        covered = sum(cover.within(began, ended) for _, began, ended in windows) / 1e9
        seconds[name], before = covered - before, covered
    seconds["other"] = whole_s - before
    kinds = " ".join({each.name for each in waits})
    with_workers, without = "_MultiProcessingDataLoaderIter" in kinds, "_SingleProcessDataLoaderIter" in kinds
    return TracedTraining(
        "cuda" if gathered.works else "cpu",
        len(windows),
        whole_s / max(1, len(windows)),
        seconds,
        with_workers if with_workers != without else None,  # None: no loaders, or of both kinds
        place_at(waits[0].began_ns) if waits else Place(),
    )


def optimizers(gathered: GatheredEvents) -> tuple[OptimizerFact, ...]:
    """Each kind that was stepped, with the form of its update as its operators show it."""
    found: dict[str, OptimizerFact] = {}
    steps = [each for each in gathered.stretches if each.device < 0 and _UPDATE.match(each.name)]
    for step in steps:
        named = _UPDATE.match(step.name)
        assert named is not None
        if named[1] not in found:
            ops = [
                op for op in gathered.ops
                if op.thread == step.thread and step.began_ns <= op.began_ns < step.ended_ns
            ]  # fmt: skip
            form, count = _form(ops)
            found[named[1]] = OptimizerFact(
                "optimizer", named[1], Place(), (), tuple(f"unnamed[{number}]" for number in range(count)), 0,
                form=form,
            )  # fmt: skip
    return tuple(found.values())


def _form(ops: list[Op]) -> tuple[str, int]:
    """And how many parameters were updated, where that can be counted."""
    names = [op.name for op in ops]
    if any(name.startswith("aten::_fused_") for name in names):
        return "fused", 0
    if any(name.startswith("aten::_foreach_") for name in names):
        return "in lists", 0
    return "one by one", names.count("aten::addcdiv_")  # of the kinds of Adam, one for each parameter


def settings_of(gathered: GatheredEvents, header: Header) -> SpeedSettings:
    """The names of kernels show whether TF32 is off: then some compute in full precision."""
    full = any(_FULL_PRECISION.search(work.name) for work in gathered.works)
    return SpeedSettings(
        device="cuda" if gathered.works else "cpu",
        device_name=header.device_name,
        capability=header.capability,
        cores=0,
        threads=0,
        tf32_matmul=not full,
        tf32_cudnn=not full,
        cudnn_benchmark=True,  # not known, and so no reason for advice
        deterministic=False,
        anomaly_mode=False,
        step=0,
        device_bytes=header.device_bytes,
    )


# What a process of a distributed training computed and communicated, and where both went on at once.
_NAMED = re.compile(r"(?:nccl|gloo|mpi|ucc):(\w+)")
_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_?(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AllToAll)?")
_RANK_IN_NAME = re.compile(r"(?:^|[._-])rank[._-]?(\d{1,6})(?:[._-]|$)", re.IGNORECASE)
_MOST = 100


def rank_of(gathered: GatheredEvents, header: Header, file: str, name: str, windows: list[Window]) -> TracedRank:
    if gathered.works:
        computed = [work for work in gathered.works if is_kernel(work) and not work.is_collective]
        computing = Cover((work.began_ns, work.ended_ns) for work in computed)
        communicating = Cover((work.began_ns, work.ended_ns) for work in gathered.works if work.is_collective)
    else:  # without a device, the operators outside of collectives
        waits = ("record_param_comms", "c10d::")
        ops = [op for op in gathered.ops if op.parent is None and not op.name.startswith(waits)]
        computing = Cover((op.began_ns, op.ended_ns) for op in ops)
        communicating = Cover(host_collectives(gathered))
    rank_in_name = _RANK_IN_NAME.search(name)
    rank = header.rank if header.rank >= 0 else int(rank_in_name[1]) if rank_in_name is not None else 0
    both = computing.with_(communicating.intervals)
    busy = [_within(cover, windows) for cover in (computing, communicating)]
    together, whole = _within(both, windows), sum(ended - began for _, began, ended in windows)
    overlap = busy[0] + busy[1] - together
    each = 1e9 * max(1, len(windows))
    return TracedRank(
        file,
        rank,
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


def collectives(gathered: GatheredEvents) -> tuple[TracedCollective, ...]:
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
    sizes: dict[str, int] = {}
    for op in gathered.ops:
        if op.name.startswith("c10d::"):
            first = re.match(r"\[\[+([\d, ]*)\]", op.shapes)
            numbers = [int(each) for each in first[1].split(",") if each.strip()] if first else [0]
            name = _plain(op.name.removeprefix("c10d::"))
            sizes[name] = sizes.get(name, 0) + math.prod(numbers) * 4  # the list of tensors hides its dtype
    rows = [
        TracedCollective(name, calls, took / 1e9, sizes.get(_plain(name), 0)) for name, (calls, took) in found.items()
    ]
    return tuple(sorted(rows, key=lambda each: -each.total_s)[:_MOST])


def _plain(name: str) -> str:
    """all_reduce, allreduce_ and AllReduce are one."""
    return name.lower().replace("_", "")


# Stretches of time, one after the other: what they cover, and where two of them overlap.
Interval = tuple[int, int]  # from, to; nanoseconds


class Cover:
    """The time that some intervals cover together."""

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        joined: list[Interval] = []  # sorted and without overlaps
        for began, ended in sorted(intervals):
            if joined and began <= joined[-1][1]:
                if ended > joined[-1][1]:
                    joined[-1] = joined[-1][0], ended
            elif ended > began:
                joined.append((began, ended))
        self.intervals = joined
        self._begins = [began for began, _ in joined]
        self._ends = [ended for _, ended in joined]
        self._sums = [0, *accumulate(ended - began for began, ended in joined)]

    def with_(self, more: Iterable[Interval]) -> Cover:
        return Cover([*self.intervals, *more])

    @property
    def total_ns(self) -> int:
        return self._sums[-1]

    def within(self, began: int, ended: int) -> int:
        """Of this stretch, the part that is covered."""
        first, last = bisect_right(self._ends, began), bisect_left(self._begins, ended)
        if first >= last:
            return 0
        covered = self._sums[last] - self._sums[first]
        covered -= max(0, began - self._begins[first])
        return covered - max(0, self._ends[last - 1] - ended)
