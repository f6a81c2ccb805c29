"""Two runs and their replicates, read and compared."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.archive.comparing.comparison import compare_runs
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.records.comparison_of_runs import RunsComparison


def compare(first: Run, second: Run, replicates: Sequence[Run] = ()) -> RunsComparison:
    runs = [first, second, *replicates]
    ours, theirs, *others = (_evidence(run, name) for run, name in zip(runs, _short_names(runs), strict=True))
    for run, evidence in zip(runs, (ours, theirs), strict=False):  # replicates need no judgement
        evidence.findings, evidence.verdict = run.findings, run.verdict
    return compare_runs(ours, theirs, others)


def _short_names(runs: Sequence[Run]) -> list[str]:
    """Of each its name; the folder where two have the same."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [run.folder for run in runs]


def _evidence(run: Run, name: str) -> RunEvidence:
    evidence = RunEvidence.of_run(run, name)
    if not evidence.steps and evidence.run is None:
        raise UsageError(f"{run.folder} holds no event file with numbers in it.")
    return evidence
