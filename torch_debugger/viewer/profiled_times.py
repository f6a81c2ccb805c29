"""What the time of steps went to: their parts, and by module where some steps were profiled closely."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from torch_debugger.archive.run import Run
from torch_debugger.records import ModuleTime, Place, ProfileFact
from torch_debugger.report.profile import opening
from torch_debugger.report.source import shown_path

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
    parts: list[dict[str, Any]] = [
        {"name": _PARTS[part], "seconds": _total_s(run, part), "rest": part == "other"} for part in known
    ]
    return [part for part in parts if part["seconds"] > 0] or None


def _total_s(run: Run, part: str) -> float:
    """A point is the mean over the steps since the last one."""
    told = run.scalars(_tag("forward" if _tag("forward") in run.tags["scalars"] else part)).steps
    curve = run.scalars(_tag(part))
    since = dict(zip(told.tolist(), np.diff(told, prepend=max(0, int(told[0]) - 1)).tolist(), strict=True))
    weights = np.array([since.get(step, 1) for step in curve.steps.tolist()])
    return float(np.nansum(curve.values * weights))


def _tag(part: str) -> str:
    return f"split/{part}_s"


def modules_of(run: Run) -> dict[str, Any] | None:
    """The last profile as a tree: each model, its parts, and what is left for itself."""
    fact = _last(run)
    return modules_of_fact(fact) if fact is not None else None


def _last(run: Run) -> ProfileFact | None:
    facts = [record for record in run.records(ProfileFact) if isinstance(record, ProfileFact)]
    return facts[-1] if facts else None


def modules_of_fact(fact: ProfileFact) -> dict[str, Any] | None:
    if not fact.modules:
        return None
    times = {each.module: _seconds(each, fact.on_device) / max(fact.steps, 1) for each in fact.modules}
    roots = [path for path in times if _parent(path, times) is None]
    children = [_node(path, times) for path in roots]
    return {"name": "one step", "seconds": sum(each["seconds"] for each in children), "children": children}


def profile_of(run: Run) -> dict[str, Any] | None:
    """The last profile as tables: of lines and of ops, the dearest first."""
    fact = _last(run)
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


def _seconds(each: ModuleTime, on_device: bool) -> float:
    if on_device:
        return each.device_forward_s + each.device_backward_s
    return each.forward_s + each.backward_s
