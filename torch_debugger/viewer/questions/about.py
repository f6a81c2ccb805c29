"""What a view needs to know of a run before it asks for anything."""

from __future__ import annotations

import time
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import BatchFact, BatchSample, InputLook, ModelFact, ModelFlow, TensorRows
from torch_debugger.report.exits import ending_signal
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.labels import entry_of, read_labels
from torch_debugger.viewer.not_shown import not_shown
from torch_debugger.viewer.projector.showing import has_any
from torch_debugger.viewer.step_times import STEP_TAG

_STARTING_S = 60.0
_TIMED = {"ProfileFact", "TracedMemory"}  # of a trace of torch.profiler, which has no steps


def answer(asked: Asked) -> dict[str, Any]:
    names = {"runs": len(asked.shelf.names()), "given_name": _given_name(asked)}
    told = {**asked.of_run(about), **names}
    told["has"]["profile"] = bool(asked.shelf.traces.files)
    return told


def _given_name(asked: Asked) -> str | None:
    """What somebody has called it on the page."""
    shown = asked.shelf.all_shown().get(asked.text("run"))
    if shown is None:  # a report is of one run, by itself
        return None
    entry = entry_of(shown)
    return read_labels(entry.folder).get(entry.key, {}).get("name")


def about(run: Run) -> dict[str, Any]:
    facts, tags = run.facts, run.tags
    caught = ending_signal(run.exit_code)
    return {
        "run": run.name,
        "status": "starting" if _is_starting(run) else run.status,
        "ended_by": f"signal {caught.value} ({caught.name})" if caught is not None else None,
        "watched": run.is_watched,
        "steps": run.steps,
        "script": facts.run.script if facts.run else None,
        "started": facts.run.started if facts.run else None,
        "duration_s": run.duration_s,
        "loss_tag": run.loss_tag,
        "tags": {kind: len(found) for kind, found in tags.items()},
        "has": what_there_is(run),
        "ranks": len(run.ranks),
        "damage": run.damage,
        "not_shown": not_shown(run),
    }


def _is_starting(run: Run) -> bool:
    """Its log is there and holds nothing yet: torch is being imported, say."""
    is_empty = not run.is_watched and not run.tags and not run.record_kinds & _TIMED
    return is_empty and time.time() - run.changed < _STARTING_S


def what_there_is(run: Run) -> dict[str, bool]:
    """By view: whether there is anything to show."""
    return {
        "layers": next(iter(run.records(TensorRows)), None) is not None,
        "model": bool(run.tags.get("graphs")) or next(iter(run.records(ModelFact)), None) is not None,
        "flow": next(iter(run.records(ModelFlow)), None) is not None,
        "data": next(iter(run.records(BatchSample, BatchFact, InputLook)), None) is not None,
        "pictures": any(run.tags.get(kind) for kind in ("pictures", "texts", "sounds", "histograms")),
        "meshes": bool(run.tags.get("mesh")),
        "projector": has_any(run),
        "ranks": len(run.ranks) > 1,
        "time": STEP_TAG in run.tags.get("scalars", []) or bool(run.record_kinds & _TIMED),
    }
