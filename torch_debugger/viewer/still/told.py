"""A run from the archive as the result that all reports are written from."""

from __future__ import annotations

import dataclasses

import numpy as np

from torch_debugger.archive.run import Run
from torch_debugger.records import CostFact, EndFact, Notice, ProbeFault, RunFact, TrialResult, UntrainedModel
from torch_debugger.redaction import redact_record
from torch_debugger.report.digest import NO_SIGN_OF_TORCH, RunDigest
from torch_debugger.report.result import Losses, RunResult

_SEEN = (RunFact, EndFact, ProbeFault, Notice, TrialResult, UntrainedModel)
_SILENT = {kind.__name__ for kind in NO_SIGN_OF_TORCH}
_OUTCOMES = {"running": "was running", "killed": "was killed", "unknown": "was left"}


def told_result(run: Run) -> RunResult:
    """Without secrets: this goes into a file that may be mailed."""
    digest = RunDigest(run.name)
    cost = run.last_record(CostFact)
    for record in (*run.records(*_SEEN), *([cost] if cost is not None else [])):
        digest.see(record)
    digest.reached(run.steps)
    digest.torch_seen = digest.torch_seen or bool(run.record_kinds - _SILENT)
    outcome = _OUTCOMES.get(run.status, run.status)
    result = dataclasses.replace(digest.result(run.findings, outcome=outcome), losses=_losses(run))
    without_secrets: RunResult = redact_record(result)
    return without_secrets


def _losses(run: Run) -> Losses | None:
    if run.loss_tag is None:
        return None
    curve = run.scalars(run.loss_tag)
    points = list(zip(curve.steps[[0, -1]].tolist(), curve.values[[0, -1]].tolist(), strict=True))
    finite = np.where(np.isfinite(curve.values), curve.values, np.inf)
    lowest = int(finite.argmin())
    known = (int(curve.steps[lowest]), float(finite[lowest])) if np.isfinite(finite[lowest]) else None
    return Losses(points[0], points[1], known)
