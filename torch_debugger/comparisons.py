"""Two runs compared: `torch_debugger.diff(a, b)` and `torch-debugger diff A B`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torch_debugger.archive.comparing.comparison import compare_runs
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.opening import open_run
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.report.comparison import ComparisonReport

_Where = str | os.PathLike[str] | Run


def diff(first: _Where, second: _Where, *, replicates: Sequence[_Where] = ()) -> ComparisonReport:
    """What differs between two runs, and where they part.

    A run is its log's folder, its name under ./runs, the result.json beside its log, or one of
    `torch_debugger.runs()`. `replicates` are
    runs like one of the two with other seeds: they tell how far apart runs of one kind end.
    """
    runs = [open_run(where) for where in (first, second, *replicates)]
    ours, theirs, *others = (_evidence(run, name) for run, name in zip(runs, _short_names(runs), strict=True))
    for run, evidence in zip(runs, (ours, theirs), strict=False):  # replicates need no judgement
        evidence.findings, evidence.verdict = run.findings, run.verdict
    return ComparisonReport(compare_runs(ours, theirs, others))


def _short_names(runs: Sequence[Run]) -> list[str]:
    """Of each its name; the folder where two have the same."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [run.folder for run in runs]


def _evidence(run: Run, name: str) -> RunEvidence:
    evidence = RunEvidence.of_run(run, name)
    if not evidence.steps and evidence.run is None:
        raise UsageError(f"{run.folder} holds no event file with numbers in it.")
    return evidence
