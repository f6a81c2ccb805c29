"""A trace for Perfetto and Chrome that stays small: the longest ops, and the longest work of the device."""

from __future__ import annotations

import gzip
import heapq
import json

from torch_debugger.profiling.timeline import Op, Timeline, Work

MOST_EVENTS = 300_000  # about 5 MB


def write_small_trace(timeline: Timeline, path: str) -> int:
    """Packed with gzip; how many events are in it."""
    everything: list[Op | Work] = [*timeline.ops, *timeline.works]
    events = heapq.nlargest(MOST_EVENTS, everything, key=_took_ns)
    events.sort(key=lambda each: each.began_ns)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=3) as file:
        file.write('{"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [\n')
        file.write(",\n".join(json.dumps(_event(each)) for each in events))
        file.write("\n]}\n")
    return len(events)


def _took_ns(each: Op | Work) -> int:
    return each.ended_ns - each.began_ns


def _event(each: Op | Work) -> dict[str, object]:
    category, thread = ("kernel", "device") if isinstance(each, Work) else ("cpu_op", each.thread)
    if isinstance(each, Op) and each.is_runtime:
        category = "cuda_runtime"
    when = {"ts": each.began_ns / 1000, "dur": _took_ns(each) / 1000}  # in microseconds
    return {"ph": "X", "cat": category, "name": each.name, "pid": 1, "tid": thread, **when}
