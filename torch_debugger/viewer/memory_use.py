"""What the memory of each device was used for over the steps of a run, and its fullest moment in words."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import MemoryLook
from torch_debugger.records.memory import (
    ACTIVATIONS,
    BEFORE_BACKWARD,
    BUFFERS,
    CACHE,
    COPIES,
    GRADIENTS,
    INPUTS,
    KEPT,
    PARAMETERS,
    REST,
    STATE,
    VARIABLES,
    WATCHER,
    WORKSPACE,
)
from torch_debugger.report.memory import peak_sentence

_MOST_LOOKS = 400
_MOST_READ = 2000
# From what stays to what comes and goes; what grows stands out on top.
_ORDER = (
    PARAMETERS, STATE, BUFFERS, GRADIENTS, COPIES, INPUTS, ACTIVATIONS, VARIABLES, WATCHER, WORKSPACE, REST,
    CACHE, KEPT,
)  # fmt: skip
_SMALL = 0.01  # of the fullest moment: what never reaches it goes into the rest
_TOLD_ALWAYS = (REST, KEPT)


def memory_use_of(run: Run) -> list[dict[str, Any]]:
    """One entry for each device, the fullest first."""
    looks = run.some_records(_MOST_READ, MemoryLook)
    devices = [[look for look in looks if look.device == device] for device in {each.device for each in looks}]
    return sorted(map(_of_device, devices), key=lambda told: -told["peak"]["bytes"])


def _of_device(looks: list[MemoryLook]) -> dict[str, Any]:
    fullest = max(looks, key=lambda look: look.used_bytes)
    fullest = dataclasses.replace(fullest, peak_bytes=max(look.peak_bytes for look in looks))
    shown = [look for look in looks if look.moment == BEFORE_BACKWARD] or looks
    stride = max(1, len(shown) // _MOST_LOOKS)
    chosen = [look for place, look in enumerate(shown) if place % stride == 0 or look.step == fullest.step]
    return {
        "device": fullest.device,
        "steps": [look.step for look in chosen],
        "categories": _categories(chosen, fullest.used_bytes),
        "peak": {"step": fullest.step, "bytes": fullest.used_bytes, "text": peak_sentence(fullest)},
    }


def _categories(looks: list[MemoryLook], most: int) -> dict[str, list[int]]:
    parts = [{**look.parts, CACHE: look.cache_bytes} for look in looks]
    told = [
        name
        for name in _ORDER
        if name in _TOLD_ALWAYS or max(part.get(name, 0) for part in parts) >= _SMALL * most
    ]
    series = {name: [part.get(name, 0) for part in parts] for name in told}
    for place, part in enumerate(parts):
        series[REST][place] += sum(size for name, size in part.items() if name not in series)
    return {name: sizes for name, sizes in series.items() if any(sizes)}
