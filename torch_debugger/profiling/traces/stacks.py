"""The Python calls of a trace (`with_stack=True`) as a tree, for a flame graph."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.profiling.traces.python_calls import PythonCall
from torch_debugger.records import TracedStack

_LEAST_SHARE = 0.002  # of the whole: what is narrower cannot be seen
_MOST = 3000
_DEEPEST = 120


def stack_tree(calls: Iterable[PythonCall], began_ns: int, ended_ns: int) -> tuple[TracedStack, ...]:
    """Calls of one thread, as far as they lie between these times."""
    parents: list[int] = []
    names: list[str] = []
    times: list[int] = []
    counts: list[int] = []
    known: dict[tuple[int, str], int] = {}
    running: list[tuple[int, int]] = []  # node, when it ends
    for call in sorted(calls, key=lambda each: (each.began_ns, -each.ended_ns)):
        began, ended = max(call.began_ns, began_ns), min(call.ended_ns, ended_ns)
        if ended <= began:
            continue
        while running and running[-1][1] <= call.began_ns:
            running.pop()
        if len(running) >= _DEEPEST:
            continue
        parent = running[-1][0] if running else -1
        node = known.get((parent, call.name))
        if node is None:
            node = known[parent, call.name] = len(names)
            parents.append(parent)
            names.append(call.name)
            times.append(0)
            counts.append(0)
        times[node] += ended - began
        counts[node] += 1
        running.append((node, call.ended_ns))
    return _kept(parents, names, times, counts)


def _kept(parents: list[int], names: list[str], times: list[int], counts: list[int]) -> tuple[TracedStack, ...]:
    whole = sum(took for took, parent in zip(times, parents, strict=True) if parent < 0)
    wide = sorted((took for took in times if took >= _LEAST_SHARE * whole), reverse=True)
    least = max(wide[min(len(wide), _MOST) - 1] if wide else 0, 1)
    place: dict[int, int] = {-1: -1}
    found: list[TracedStack] = []
    for node, parent in enumerate(parents):
        if times[node] >= least and parent in place:
            place[node] = len(found)
            found.append(TracedStack(place[parent], names[node], times[node] / 1e9, counts[node]))
    return tuple(found[:_MOST])
