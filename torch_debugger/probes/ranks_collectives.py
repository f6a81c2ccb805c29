"""Which collectives this rank calls, in which order, with what, and from which line.

Ranks of a group must call the same ones in the same order. No rank is asked: each keeps a list of its own
calls and tells it to the log, the first ones whole and later ones thinned by time, and the judge compares. The
methods of torch's process groups are what every function of torch.distributed ends in; what
DistributedDataParallel does in its backward does not come through Python, and is neither seen nor slowed down.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CollectiveKind, CollectivesFact, Place
from torch_debugger.records.ranks import stretches
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import condition_on_rank
from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks

# Methods of a process group, by the name that users know. Not those between two ranks: they differ by nature.
_OPS = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce_coalesced",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "allgather": "all_gather",
    "_allgather_base": "all_gather_into_tensor",
    "gather": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "barrier": "barrier",
}
_SECOND = {"allgather", "_allgather_base", "gather"}  # whose input is the second argument
_UNEVEN = {"alltoall", "alltoall_base", "allgather", "reduce_scatter"}  # whose sizes may differ between ranks

_Line = tuple[CodeType, int]
_Key = tuple[str, tuple[int, ...], str, _Line | None, _Line | None]


@dataclass
class _Group:
    name: str
    ranks: tuple[tuple[int, int], ...]
    count: int = 0
    told: int = 0
    numbers: dict[_Key, int] = field(default_factory=dict)
    kinds: list[CollectiveKind] = field(default_factory=list)
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=Collectives.RECENT))


class Collectives(Probe):
    name = "collectives"
    SINGLE = 24  # calls of a group that are told before they are made, as new kinds are: one may never return
    SLOW_S = 0.1  # of writing them; a disk that takes longer is not waited for again
    FIRST = 512  # that are all told
    RECENT = 256  # later: as many as fit, each time something is told
    EVERY_S = 1.0
    KINDS = 200  # of a group; a script whose shapes never repeat has told enough by then
    GROUPS = 32
    REDUCED = 8192
    BATCH = 64

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        # Addresses of tensors that were added up, where that is wanted; in the first step, it may be.
        self.reduced: set[int] | None = set()
        self.reduced_sizes: set[int] = set()
        self._groups: dict[int, _Group | None] = {}
        self._reported_at = 0.0
        self._keeps = True

    def install(self, patches: Patches) -> None:
        if not torch.distributed.is_available():
            return
        for method in _OPS:
            if hasattr(torch.distributed.ProcessGroup, method):
                around = functools.partial(self._around, method)
                patches.replace(torch.distributed.ProcessGroup, method, around)

    def end_step(self) -> None:
        if self._groups and time.perf_counter() - self._reported_at > self.EVERY_S:
            self.tell()

    def remove(self) -> None:
        self.tell()

    def _around(self, method: str, original: Any) -> Any:
        # `original` is bound to nothing: pybind's own functions take the group as their first argument.
        note = functools.partial(self._note, method)
        watch = self.watch

        @functools.wraps(original)
        def collective(group: Any, *arguments: Any, **keywords: Any) -> Any:
            if watch.active and self.name not in watch.guard.removed:
                watch.guard.contain(self.name, note, group, arguments)
            with hidden_in_tracebacks:
                return original(group, *arguments, **keywords)

        return collective

    def _note(self, method: str, group: Any, arguments: tuple[Any, ...]) -> None:
        if id(group) not in self._groups:
            self._meet(group)
        found = self._groups[id(group)]
        if found is None:
            return
        # The tensor whose form all ranks must agree on: given alone, in a list, or in a list of lists.
        tensor: Any = arguments[method in _SECOND] if len(arguments) > (method in _SECOND) else None
        while is_a(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        shape: tuple[int, ...] = ()
        dtype = ""
        if is_a(tensor, torch.Tensor):
            if method not in _UNEVEN:
                shape, dtype = tuple(tensor.shape), str(tensor.dtype)
            if self.reduced is not None and method == "allreduce" and len(self.reduced) < self.REDUCED:
                self.reduced.add(tensor.data_ptr())
                self.reduced_sizes.add(tensor.numel())
        frame = _users(sys._getframe(3))
        line = (frame.f_code, frame.f_lineno) if frame is not None else None
        outer = _users(frame.f_back) if frame is not None else None
        caller = (outer.f_code, outer.f_lineno) if outer is not None else None
        key = (method, shape, dtype, line, caller)
        is_new = key not in found.numbers
        number = self._new_kind(found, key) if is_new else found.numbers[key]
        if number is None:
            return
        found.count += 1
        found.recent.append(number)
        if is_new or found.count <= self.SINGLE:
            self._tell(found)
            if self._keeps:  # a group that meets data of another size may abort at once; then it must be on the disk
                began = time.perf_counter()
                self.watch.sinks.flush()
                self._keeps = time.perf_counter() - began < self.SLOW_S
        elif found.count - found.told >= self.BATCH and found.count <= self.FIRST:
            self._tell(found)
        elif time.perf_counter() - self._reported_at > self.EVERY_S:
            self.tell()

    def _meet(self, group: Any) -> None:
        known = None
        if len(self._groups) < self.GROUPS:
            members = torch.distributed.get_process_group_ranks(group)
            ranks = tuple(stretches(sorted(members)))
            known = _Group(str(group.group_name), ranks) if len(members) > 1 else None
        self._groups[id(group)] = known

    def _new_kind(self, group: _Group, key: _Key) -> int | None:
        if len(group.kinds) >= self.KINDS:
            group.numbers.clear()
            self._groups = {each: None if known is group else known for each, known in self._groups.items()}
            return None
        method, shape, dtype, line, caller = key
        form = (_OPS[method], shape, dtype.removeprefix("torch."))
        place, around = _place(line), _place(caller)
        condition = condition_on_rank(place) or condition_on_rank(around)
        group.kinds.append(CollectiveKind(*form, place, around, condition))
        group.numbers[key] = number = len(group.kinds) - 1
        return number

    def tell(self) -> None:
        """What is not told yet; also for whoever finds that the training stands still."""
        self._reported_at = time.perf_counter()
        for group in self._groups.values():
            if group is not None and group.count > group.told:
                self._tell(group)

    def _tell(self, group: _Group) -> None:
        new = min(group.count - group.told, len(group.recent))
        calls = list(group.recent)[-new:]
        used = sorted(set(calls))
        index = {number: place for place, number in enumerate(used)}
        self.watch.emit(
            CollectivesFact(
                group.name,
                group.ranks,
                group.count - new + 1,
                tuple(index[number] for number in calls),
                tuple(group.kinds[number] for number in used),
                self.watch.step,
            )
        )
        group.told = group.count


def _users(frame: FrameType | None) -> FrameType | None:
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _place(line: _Line | None) -> Place:
    return place_at(line[0].co_filename, line[1]) if line is not None else Place()
