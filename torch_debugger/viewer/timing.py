"""Where a run's time and memory went, as far as it was recorded."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.run import Run
from torch_debugger.records import (
    CostFact,
    MemoryFact,
    MemoryLook,
    PassFact,
    Place,
    ProfileFact,
    SampledStacks,
    StackNode,
    TracedMemory,
)
from torch_debugger.records.performance import (
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
from torch_debugger.report.profile import opening
from torch_debugger.report.sentences import peak_sentence
from torch_debugger.report.text import shown_path
from torch_debugger.viewer.questions import Query, as_json


def answer_timing(query: Query) -> dict[str, Any]:
    return query.of_run(timing_of)


# How long the steps of a run took, as far as its log tells: whole steps, and the wait for data within them.
STEP_TAG, WAIT_TAG = "time/step_s", "time/data_wait_s"
_MOST_STRETCHES = 300
_MOST_SLOW = 10
_MOST_MEMORY = 400

_Numbers = NDArray[np.float64]


def timing_of(run: Run) -> dict[str, Any]:
    scalars = run.tags.get("scalars", [])
    memory = _memory(run)
    if STEP_TAG not in scalars:
        return {
            "steps": None,
            "slowest": [],
            "split": None,
            "modules": modules_of(run),
            "sampled": sampled_of(run),
            "memory": memory,
            "memory_use": memory_use_of(run),
            "cost": _cost(run),
            "profile": profile_of(run),
        }
    curve = run.scalars(STEP_TAG)
    known = np.isfinite(curve.values)
    steps, took = curve.steps[known], curve.values[known]
    waited = _waits(run, steps) if WAIT_TAG in scalars else None
    return {
        "steps": _summary(took, waited) | {"stretches": _stretches(steps, took, waited)} if len(took) else None,
        "slowest": _slowest(run, steps, took, waited),
        "split": split_of(run) or _split(took, waited),
        "modules": modules_of(run),
        "sampled": sampled_of(run),
        "memory": memory,
        "memory_use": memory_use_of(run),
        "cost": _cost(run),
        "profile": profile_of(run),
    }


def _waits(run: Run, steps: NDArray[np.int64]) -> _Numbers:
    """By step; zero where nothing was waited for."""
    curve = run.scalars(WAIT_TAG)
    by_step = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    waits: _Numbers = np.nan_to_num(np.array([by_step.get(step, 0.0) for step in steps.tolist()]))
    return waits


def _summary(took: _Numbers, waited: _Numbers | None) -> dict[str, Any]:
    total = float(took.sum())
    return {
        "count": len(took),
        "total_s": total,
        "median_s": float(np.median(took)),
        "slow_s": float(np.quantile(took, 0.95)),
        "steps_per_s": 1.0 / float(np.median(took)) if np.median(took) > 0 else None,
        "wait_s": float(np.minimum(waited, took).sum()) if waited is not None else None,
    }


def _split(took: _Numbers, waited: _Numbers | None) -> list[dict[str, Any]] | None:
    if waited is None:
        return None
    wait_s = float(np.minimum(waited, took).sum())
    rest = {"name": "everything else", "seconds": float(took.sum()) - wait_s, "rest": True}
    return [{"name": "waiting for data", "seconds": wait_s}, rest]


def _stretches(steps: NDArray[np.int64], took: _Numbers, waited: _Numbers | None) -> list[dict[str, Any]]:
    """Steps next to each other as one bar each, few enough for a screen; the slowest of each is kept."""
    edges = np.linspace(0, len(took), min(len(took), _MOST_STRETCHES) + 1).astype(int).tolist()
    return [
        {
            "from": int(steps[start]),
            "to": int(steps[end - 1]),
            "mean_s": float(took[start:end].mean()),
            "max_s": float(took[start:end].max()),
            "wait_s": None if waited is None else float(np.minimum(waited, took)[start:end].mean()),
        }
        for start, end in pairwise(edges)
    ]


def _slowest(run: Run, steps: NDArray[np.int64], took: _Numbers, waited: _Numbers | None) -> list[dict[str, Any]]:
    # torch-debugger's close looks make steps slower than they are without them; a whole pass over a loader that called
    # a model and updated nothing is an evaluation.
    looked_at = {rows.step for rows in run.rows("activation")}
    evaluated = {each.step for each in run.records(PassFact) if each.calls and not each.updates and not each.backwards}
    order = np.argsort(-took, kind="stable")[:_MOST_SLOW].tolist()
    return [
        {
            "step": int(steps[place]),
            "seconds": float(took[place]),
            "wait_s": None if waited is None else float(waited[place]),
            "looked_at": int(steps[place]) in looked_at,
            "evaluated": int(steps[place]) in evaluated,
        }
        for place in order
    ]


def _cost(run: Run) -> dict[str, Any] | None:
    last = run.last_record(CostFact)
    if last is None:
        return None
    return {"ratio": as_json(last.ratio), "spent_s": last.spent_s, "budget": last.budget, "looks": last.deep_steps}


def _memory(run: Run) -> dict[str, Any] | None:
    facts = list(run.records(MemoryFact))
    if not facts:
        return _traced_memory(run)
    chosen = facts[:: -max(1, len(facts) // _MOST_MEMORY)][::-1]
    categories = {"process": [fact.resident_bytes for fact in chosen]}
    if any(fact.device_bytes for fact in chosen):
        categories["accelerator"] = [fact.device_bytes for fact in chosen]
    return {
        "steps": [fact.step for fact in chosen],
        "categories": categories,
        "peak": {
            "process": max(fact.peak_bytes for fact in facts),
            "accelerator": max(fact.device_peak_bytes for fact in facts),
        },
    }


# What the time of steps went to: their parts, and by module where some steps were profiled closely.
_PARTS = {
    "data_wait": "waiting for data",
    "copy": "preparing and copying the batch",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimizer",
    "evaluation": "without gradients (evaluation)",
    "logging": "between steps (logging, printing)",
    "other": "other",
    "torch_debugger": "torch-debugger",
}
_MOST_ROWS = 20


def split_of(run: Run) -> list[dict[str, Any]] | None:
    """Seconds by part over the steps that tell them; None where none do."""
    known = [part for part in _PARTS if _tag(part) in run.tags.get("scalars", [])]
    parts: list[dict[str, Any]] = []
    for part in known:
        # A point is the mean over the steps since the last one.
        looks = run.scalars(_tag("forward" if "forward" in known else part)).steps
        since = dict(zip(looks.tolist(), np.diff(looks, prepend=max(0, int(looks[0]) - 1)).tolist(), strict=True))
        curve = run.scalars(_tag(part))
        seconds = float(np.nansum(curve.values * [since.get(step, 1) for step in curve.steps.tolist()]))
        parts.append({"name": _PARTS[part], "seconds": seconds, "rest": part == "other"})
    return [part for part in parts if part["seconds"] > 0] or None


def _tag(part: str) -> str:
    return f"split/{part}_s"


def modules_of(run: Run) -> dict[str, Any] | None:
    """The last profile as a tree: each model, its parts, and what is left for itself."""
    fact = run.last_record(ProfileFact)
    return modules_of_fact(fact) if fact is not None else None


def modules_of_fact(fact: ProfileFact) -> dict[str, Any] | None:
    if not fact.modules:
        return None
    times = {
        each.module: (
            each.device_forward_s + each.device_backward_s if fact.on_device else each.forward_s + each.backward_s
        )
        / max(fact.steps, 1)
        for each in fact.modules
    }
    roots = [path for path in times if _parent(path, times) is None]
    children = [_node(path, times) for path in roots]
    return {"name": "one step", "seconds": sum(each["seconds"] for each in children), "children": children}


def profile_of(run: Run) -> dict[str, Any] | None:
    """The last profile as tables: of lines and of ops, the dearest first."""
    fact = run.last_record(ProfileFact)
    return profile_of_fact(fact) if fact is not None else None


def profile_of_fact(fact: ProfileFact) -> dict[str, Any]:
    steps, whole_s = max(fact.steps, 1), fact.device_busy_s if fact.on_device else fact.wall_s
    lines = [
        (
            _spot(each.place),
            each.place.code or "",
            each.device_s if fact.on_device else each.host_s + each.backward_s,
        )
        for each in fact.lines
    ]
    ops = [
        (each.op, f"{each.calls / steps:.4g} calls a step", each.device_s if fact.on_device else each.host_s)
        for each in fact.ops
    ]
    return {
        "told": opening(fact),
        "lines": _dearest(lines, whole_s, steps),
        "ops": _dearest(ops, whole_s, steps),
    }


def _dearest(rows: list[tuple[str, str, float]], whole_s: float, steps: int) -> list[dict[str, Any]]:
    ordered = sorted(rows, key=lambda row: -row[2])[:_MOST_ROWS]
    return [
        {"name": name, "beside": beside, "seconds": took_s / steps, "share": took_s / max(whole_s, 1e-12)}
        for name, beside, took_s in ordered
        if took_s > 0
    ]


def _spot(place: Place) -> str:
    return f"{shown_path(place.file, os.getcwd())}:{place.line}" if place.file else "elsewhere"


def _node(path: str, times: dict[str, float]) -> dict[str, Any]:
    inside = [each for each in times if _parent(each, times) == path]
    return {"name": path, "seconds": times[path], "children": [_node(each, times) for each in inside]}


def _parent(path: str, times: dict[str, float]) -> str | None:
    """The nearest module around it that was called: a ModuleList is not."""
    while "." in path:
        path = path.rpartition(".")[0]
        if path in times:
            return path
    return None


# Sampled stacks as trees for the page: the user's lines below each other, libraries folded under them.
_WHOLE = {"training": "training thread"}


@dataclass
class _TimedPart:
    name: str
    about: str
    quiet: bool  # of a library
    samples: int = 0
    inside: dict[str, _TimedPart] = field(default_factory=dict)

    def to_json(self, key: str) -> dict[str, Any]:
        order = sorted(self.inside.items(), key=lambda item: -item[1].samples)
        return {
            "key": key,
            "name": self.name,
            "about": self.about,
            "quiet": self.quiet,
            "samples": self.samples,
            "children": [part.to_json(inner) for inner, part in order],
        }


def sampled_of(run: Run) -> list[dict[str, Any]]:
    """Of each thread or worker the last that was told; the training's first."""
    last = {each.who: each for each in run.records(SampledStacks)}
    folder = run.facts.run.folder if run.facts.run else None
    order = sorted(last.values(), key=lambda each: (each.who != "training", _number(each.who), each.who))
    return [_thread(each, folder) for each in order if each.nodes]


def _thread(stacks: SampledStacks, folder: str | None) -> dict[str, Any]:
    name = _WHOLE.get(stacks.who, stacks.who)
    root = _TimedPart(name, "", quiet=False)
    for number, taken in enumerate(stacks.nodes):
        part = root
        part.samples += taken.samples
        for node in _way_to(stacks, number) if taken.samples else ():
            key = f"{node.place.file}:{node.place.line}" if node.is_users else node.function
            part = part.inside.setdefault(key, _part(node, folder))
            part.samples += taken.samples
    return {
        "who": stacks.who,
        "name": name,
        "period_s": stacks.period_s,
        "root": root.to_json(stacks.who),
    }


def _way_to(stacks: SampledStacks, number: int) -> list[StackNode]:
    """The user's lines from the outermost on; then the library's function that the last of them called, and the
    one in which the sample was taken. Libraries between two lines of the user's are left out."""
    owner = stacks.users_line(number)
    library: list[StackNode] = []
    while number >= 0 and number != owner:
        library.append(stacks.nodes[number])
        number = stacks.nodes[number].parent
    lines: list[StackNode] = []
    while number >= 0:
        lines += [stacks.nodes[number]] if stacks.nodes[number].is_users else []
        number = stacks.nodes[number].parent
    return [*reversed(lines), *library[:0:-1][:1], *library[:1]]


def _part(node: StackNode, folder: str | None) -> _TimedPart:
    file = node.place.file or "?"
    if not node.is_users:
        return _TimedPart(node.function, f"a function of {_library(file)}", quiet=True)
    code = f" {node.place.code}" if node.place.code else ""
    name = f"{os.path.basename(file)}:{node.place.line}{code}"
    return _TimedPart(name, f"in {node.function}, {shown_path(file, folder)}:{node.place.line}", quiet=False)


def _library(file: str) -> str:
    """torch/optim/adam.py: from the folder on in which libraries lie."""
    for folder in ("site-packages", "dist-packages"):
        _, found, inside = file.replace(os.sep, "/").rpartition(f"/{folder}/")
        if found:
            return inside
    return os.path.basename(file)


def _number(who: str) -> int:
    number = who.rpartition(" ")[2]
    return int(number) if number.isdecimal() else 0


# What the memory of each device was used for over the steps of a run, and its fullest moment in words.
_MOST_LOOKS = 400
_MOST_READ = 2000
# From what stays to what comes and goes; what grows stands out on top.
_ORDER = (
    PARAMETERS, STATE, BUFFERS, GRADIENTS, COPIES, INPUTS, ACTIVATIONS, VARIABLES, WATCHER, WORKSPACE, REST,
    CACHE, KEPT,
)  # fmt: skip
_SMALL = 0.01  # of the fullest moment: what never reaches it goes into the rest
_ALWAYS_SHOWN = (REST, KEPT)


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
    shown = [
        name for name in _ORDER if name in _ALWAYS_SHOWN or max(part.get(name, 0) for part in parts) >= _SMALL * most
    ]
    series = {name: [part.get(name, 0) for part in parts] for name in shown}
    for place, part in enumerate(parts):
        series[REST][place] += sum(size for name, size in part.items() if name not in series)
    return {name: sizes for name, sizes in series.items() if any(sizes)}


def _traced_memory(run: Run) -> dict[str, Any] | None:
    """Memory over the time of a profiler's trace, in the form in which the page shows memory over steps."""
    last = run.last_record(TracedMemory)
    if last is None or not last.moments_ms:
        return None
    return {
        "steps": list(last.moments_ms),
        "unit": "ms",
        "categories": {f"given out on {device}": list(used) for device, used in last.used_bytes.items()},
        "peak": {f"given out on {device}": peak for device, peak in last.peak_bytes.items()},
    }
