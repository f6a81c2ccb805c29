"""The steps of a trace, and what the time of each went to.

A step is over when the next one begins: a device works on what a step has started while the host goes on.
Of several things that went on at once the first in the list of parts counts, as in TensorBoard's profiler tab.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from torch_debugger.profiling.traces.gathering import Gathered, Stretch
from torch_debugger.profiling.traces.intervals import Cover, Interval
from torch_debugger.records import TracedStep
from torch_debugger.records.trace import (
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


def step_windows(gathered: Gathered) -> list[Window]:
    steps = sorted(gathered.steps, key=lambda step: step[1])[:_MOST_STEPS]
    windows = [(number, began, following[1]) for (number, began, _), following in pairwise(steps)]
    if steps:
        number, began, ended = steps[-1]
        windows.append((number, began, max([ended, *_device_ends(gathered, ended)])))
    return windows


def _device_ends(gathered: Gathered, ended_ns: int) -> Iterable[int]:
    """Of what was started on a device before the last step was over on the host."""
    return (work.ended_ns for work in gathered.works if work.op is not None and work.op.began_ns < ended_ns)


def traced_steps(gathered: Gathered, began_ns: int) -> tuple[TracedStep, ...]:
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


def _covers(gathered: Gathered) -> list[tuple[str, Cover]]:
    """What each part covers together with all parts before it."""
    of: dict[str, list[Interval]] = {name: [] for name in STEP_PARTS}
    for work in gathered.works:
        of[_part(work.name, collective=work.is_collective)].append((work.began_ns, work.ended_ns))
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


def _part(name: str, *, collective: bool) -> str:
    if collective:
        return COMMUNICATION
    return MEMCPY if name.startswith("Memcpy") else MEMSET if name.startswith("Memset") else KERNEL


def loader_waits(gathered: Gathered) -> list[Stretch]:
    """Where the training takes a batch from its DataLoader."""
    return [each for each in gathered.stretches if each.device < 0 and each.name.startswith(_LOADER)]


def host_collectives(gathered: Gathered) -> list[Interval]:
    """Of backends that compute on the host. With a device, a host's stretch is no more than the launch."""
    if gathered.works:
        return []
    return [(each.began_ns, each.ended_ns) for each in gathered.stretches if each.name.startswith(_COLLECTIVES)]
