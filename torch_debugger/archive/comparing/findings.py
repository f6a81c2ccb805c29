"""What the debugger found in each run, and which of it may be why they part."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.records import Finding
from torch_debugger.records.comparison_of_runs import Gap, Parting, Suspect

_ON_DATA = "TD2"


def verdicts(*runs: RunEvidence) -> tuple[tuple[str, Finding | None], ...]:
    return tuple((run.name, run.verdict) for run in runs if not run.is_foreign)


def find_suspect(parting: Parting, first: RunEvidence, second: RunEvidence) -> Suspect | None:
    """Of runs that were both judged; the most serious where there are several."""
    if parting.gap is None or first.is_foreign or second.is_foreign:
        return None
    for run, other in ((second, first), (first, second)):
        for finding in run.findings:
            if _is_alone(finding, other) and _may_explain(finding, parting.gap, parting):
                return Suspect(run.name, other.name, finding)
    return None


def _is_alone(finding: Finding, other: RunEvidence) -> bool:
    return finding.severity != "note" and all(each.check != finding.check for each in other.findings)


def _may_explain(finding: Finding, gap: Gap, parting: Parting) -> bool:
    """What a model is made with or given is no consequence of how it is trained."""
    if gap.phase == "weights" and gap.step == parting.first_step:
        return False
    on_time = finding.first_step <= gap.step
    return on_time and (gap.phase != "batch" or finding.check.startswith(_ON_DATA))
