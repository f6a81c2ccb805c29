"""How long the steps of a run took, as far as its log tells: whole steps, and the wait for data within them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.run import Run
from torch_debugger.records import CostFact, MemoryFact, PassFact
from torch_debugger.viewer.grids import as_json
from torch_debugger.viewer.memory_use import memory_use_of
from torch_debugger.viewer.profiled_times import modules_of, profile_of, split_of
from torch_debugger.viewer.sampled_times import sampled_of
from torch_debugger.viewer.traced_memory import traced_memory

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
        "slowest": _slowest(steps, took, waited, _close_looks(run), _evaluations(run)),
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


def _slowest(
    steps: NDArray[np.int64],
    took: _Numbers,
    waited: _Numbers | None,
    looked_at: set[int],
    evaluated: set[int],
) -> list[dict[str, Any]]:
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


def _close_looks(run: Run) -> set[int]:
    """The steps that torch-debugger looked at closely, which made them slower than they are without it."""
    return {rows.step for rows in run.rows("activation")}


def _evaluations(run: Run) -> set[int]:
    """The steps in which a whole pass over a loader called a model and updated nothing."""
    passes = (each for each in run.records(PassFact) if isinstance(each, PassFact))
    return {each.step for each in passes if each.calls and not each.updates and not each.backwards}


def _cost(run: Run) -> dict[str, Any] | None:
    last = run.last_record(CostFact)
    if last is None:
        return None
    return {
        "ratio": as_json(last.ratio),
        "spent_s": last.spent_s,
        "budget": last.budget,
        "looks": last.deep_steps,
    }


def _memory(run: Run) -> dict[str, Any] | None:
    facts = [record for record in run.records(MemoryFact) if isinstance(record, MemoryFact)]
    if not facts:
        return traced_memory(run)
    chosen = facts[:: -max(1, len(facts) // _MOST_MEMORY)][::-1]
    categories = {"process": [fact.resident_bytes for fact in chosen]}
    if any(fact.device_bytes for fact in chosen):
        categories["accelerator"] = [fact.device_bytes for fact in chosen]
    return {"steps": [fact.step for fact in chosen], "categories": categories, "peak": _peak(facts)}


def _peak(facts: list[MemoryFact]) -> dict[str, int]:
    return {
        "process": max(fact.peak_bytes for fact in facts),
        "accelerator": max(fact.device_peak_bytes for fact in facts),
    }
