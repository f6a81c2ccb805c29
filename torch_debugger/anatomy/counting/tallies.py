"""The entries of a counter, added up: by phase, by module with all that lies below it, and by operation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import torch
from torch import nn

from torch_debugger.anatomy.counting.module_scopes import ModuleScopes
from torch_debugger.anatomy.counting.op_counter import FORWARD, Entry, OpCounter
from torch_debugger.anatomy.counting.rooflines import Machine
from torch_debugger.anatomy.flop_count import Counts, ModuleCount, OpCount, UncountedOp


def counts_of(counter: OpCounter, phases: Iterable[str]) -> Counts:
    return _added(item for item in counter.calls.items() if item[0].phase in phases)


def main_dtype(counter: OpCounter) -> torch.dtype | None:
    """In which most multiply-accumulates are done."""
    macs: Counter[torch.dtype] = Counter()
    for entry, calls in counter.calls.items():
        if entry.cost.dtype is not None:
            macs[entry.cost.dtype] += entry.cost.macs * calls
    return macs.most_common(1)[0][0] if macs else None


def by_module(counter: OpCounter, scopes: ModuleScopes, machine: Machine | None) -> dict[str, ModuleCount]:
    """In the order of named_modules(); a part of the model that nothing called has counts of zero."""
    own: dict[tuple[str, bool], Counts] = defaultdict(Counts)
    below: dict[tuple[str, bool], Counts] = defaultdict(Counts)
    for item in counter.calls.items():
        path, is_forward = item[0].path, item[0].phase == FORWARD
        cost = _added([item])
        own[path, is_forward] += cost
        for above in _lineage(path):
            below[above, is_forward] += cost
    return {path: _module_count(path, module, scopes, own, below, machine) for path, module in scopes.in_order}


def _module_count(
    path: str,
    module: nn.Module,
    scopes: ModuleScopes,
    own: dict[tuple[str, bool], Counts],
    below: dict[tuple[str, bool], Counts],
    machine: Machine | None,
) -> ModuleCount:
    forward, backward = below[path, True], below[path, False]
    total = forward + backward
    return ModuleCount(
        total.macs,
        total.elementwise,
        total.bytes,
        path=path,
        module=type(module).__name__,
        calls=scopes.calls[path],
        own=own[path, True] + own[path, False],
        forward=forward,
        backward=backward,
        bound=machine.bound(total.intensity) if machine is not None and total.bytes else "",
    )


def by_op(counter: OpCounter) -> dict[str, OpCount]:
    """The most expensive first."""
    calls: Counter[str] = Counter()
    costs: dict[str, Counts] = defaultdict(Counts)
    for entry, times in counter.calls.items():
        calls[entry.operation] += times
        costs[entry.operation] += _added([(entry, times)])

    def size(op: str) -> tuple[int, int, int]:
        return costs[op].macs, costs[op].elementwise, costs[op].bytes

    return {op: OpCount(*size(op), calls[op]) for op in sorted(costs, key=size, reverse=True)}


def uncounted(counter: OpCounter) -> tuple[UncountedOp, ...]:
    """With their shares of everything that ran; the largest first."""
    all_calls = sum(counter.calls.values())
    all_bytes = sum(entry.cost.bytes * times for entry, times in counter.calls.items())
    found: dict[str, list[tuple[Entry, int]]] = defaultdict(list)
    for entry, times in counter.calls.items():
        if not entry.cost.counted:
            found[entry.operation].append((entry, times))
    listed = [
        UncountedOp(
            op=op,
            calls=(calls := sum(times for _, times in items)),
            call_share=calls / all_calls,
            bytes=(size := sum(entry.cost.bytes * times for entry, times in items)),
            byte_share=size / all_bytes if all_bytes else 0.0,
            modules=tuple(dict.fromkeys(entry.path for entry, _ in items)),
            places=tuple(place for place in counter.places.get(op, ()) if place.file is not None),
        )
        for op, items in found.items()
    ]
    return tuple(sorted(listed, key=lambda each: (-each.bytes, each.op)))


def _lineage(path: str) -> Iterator[str]:
    """a.b.c, a.b, a, and the model itself"""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def _added(items: Iterable[tuple[Entry, int]]) -> Counts:
    macs = elementwise = size = 0
    for entry, times in items:
        macs += entry.cost.macs * times
        elementwise += entry.cost.elementwise * times
        size += entry.cost.bytes * times
    return Counts(macs, elementwise, size)
