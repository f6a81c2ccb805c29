"""The machine-readable result, format 1; also NaN and infinity are valid JSON (as text)."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from torch_debugger.records import Finding, MemoryLook, TrialResult
from torch_debugger.report.hang_stacks import hang_to_json
from torch_debugger.report.result import RunResult
from torch_debugger.report.source import short_paths, shown_path

FORMAT = 1


def to_json(result: RunResult) -> dict[str, Any]:
    trials = {"trials": [_trial(trial) for trial in result.trials]} if result.trials else {}
    memory = {"memory": [_memory(look) for look in result.memory]} if result.memory else {}
    hangs = {"hangs": [hang_to_json(hang, result.folder) for hang in result.hangs]} if result.hangs else {}
    ranks = {"ranks": [dataclasses.asdict(rank) for rank in result.ranks]} if result.ranks else {}
    return (
        trials
        | memory
        | hangs
        | ranks
        | {
            "format": FORMAT,
            "script": result.script,
            "run": _run_name(result),
            "outcome": result.outcome,
            "exit_code": result.exit_code,
            "steps": result.steps,
            "counted": result.counted,
            "torch_seen": result.torch_seen,
            "loss": _losses(result),
            "verdict": 0 if result.verdict else None,
            "findings": [
                finding_to_json(finding, result.folder, result.cause_index(index))
                for index, finding in enumerate(result.findings)
            ],
            "cost": _cost(result),
            "notices": [notice.text for notice in result.notices],
            "log": result.log,
        }
    )


def _trial(trial: TrialResult) -> dict[str, Any]:
    return {
        "name": trial.name,
        "outcome": trial.outcome,
        "message": trial.message,
        "advice": trial.advice,
        "numbers": {key: _number(value) for key, value in trial.numbers.items()},
    }


def _memory(look: MemoryLook) -> dict[str, Any]:
    return {
        "device": look.device,
        "step": look.step,
        "moment": look.moment,
        "used_bytes": look.used_bytes,
        "peak_bytes": look.peak_bytes or None,
        "parts": look.parts,
        "modules": {each.path: each.size_bytes for each in look.modules},
    }


def _run_name(result: RunResult) -> str | None:
    if result.log:
        return os.path.basename(os.path.normpath(result.log))
    return f"{os.path.basename(result.script)}-{result.run.started:.0f}" if result.run else None


def finding_to_json(finding: Finding, folder: str | None, symptom_of: int | None) -> dict[str, Any]:
    """`symptom_of` is where the finding that explains this one stands among its fellows."""
    ranks = {"ranks": list(finding.ranks)} if finding.ranks else {}
    return ranks | {
        "check": finding.check,
        "name": finding.name,
        "severity": finding.severity,
        "status": finding.status,
        "confidence": _number(finding.confidence),
        "message": short_paths(finding.message, folder),
        "why": short_paths(finding.why, folder),
        "fix": short_paths(finding.fix, folder),
        "where": _where(finding, folder),
        "first_step": finding.first_step,
        "last_step": finding.last_step,
        "evidence": {key: _number(value) for key, value in finding.evidence.items()},
        "edit": _edit(finding, folder),
        "symptom_of": symptom_of,
    }


def _where(finding: Finding, folder: str | None) -> dict[str, Any]:
    place = finding.where
    file = shown_path(place.file, folder) if place.file else None
    return {"module": place.module, "file": file, "line": place.line}


def _edit(finding: Finding, folder: str | None) -> dict[str, Any] | None:
    edit = finding.edit
    if edit is None:
        return None
    file = shown_path(edit.file, folder)
    return {"file": file, "line": edit.line, "before": edit.before, "after": edit.after}


def _losses(result: RunResult) -> dict[str, Any] | None:
    if result.losses is None:
        return None
    points = {"first": result.losses.first, "last": result.losses.last, "lowest": result.losses.lowest}
    return {
        name: {"step": point[0], "value": _number(point[1])} if point else None
        for name, point in points.items()
    }


def _cost(result: RunResult) -> dict[str, Any]:
    cost = result.cost
    return {
        "ratio": _number(cost.ratio) if cost else None,
        "budget": 1.0 + cost.budget if cost else None,
        "spent_s": _number(cost.spent_s) if cost else None,
        "elapsed_s": _number(cost.elapsed_s) if cost else None,
        "deep_steps": cost.deep_steps if cost else 0,
        "probes_removed": [f"{fault.probe}: {fault.error}" for fault in result.faults],
    }


def _number(value: float | str) -> float | str:
    """JSON has no NaN and no infinity; they go as 'nan', 'inf' and '-inf'."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
