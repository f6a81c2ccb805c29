"""The time of the modules, where some steps were profiled closely."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import ModuleTime, ProfileFact


def modules_of(run: Run) -> dict[str, Any] | None:
    """The last profile as a tree: each model, its parts, and what is left for itself."""
    facts = [record for record in run.records(ProfileFact) if isinstance(record, ProfileFact)]
    if not facts or not facts[-1].modules:
        return None
    fact = facts[-1]
    times = {each.module: _seconds(each, fact.on_device) / max(fact.steps, 1) for each in fact.modules}
    roots = [path for path in times if _parent(path, times) is None]
    children = [_node(path, times) for path in roots]
    return {"name": "one step", "seconds": sum(each["seconds"] for each in children), "children": children}


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
