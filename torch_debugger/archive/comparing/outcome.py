"""How the runs ended: steps, outcome, and the last value of every curve."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.archive.comparing.tags import phase_of, shared_tags
from torch_debugger.records.comparison_of_runs import Topic


def compare_outcomes(first: RunEvidence, second: RunEvidence) -> Topic:
    shared = [tag for tag in shared_tags(first, second) if phase_of(tag) in ("loss", "evaluation")]
    return Topic("outcome", differences(_ended(first, shared), _ended(second, shared)))


def _ended(run: RunEvidence, tags: list[str]) -> dict[str, object]:
    outcome = {"outcome": run.end.outcome, "a step is one of": run.end.counted} if run.end else {"outcome": ""}
    steps = {"steps": max(run.steps, default=0)}
    metrics = {f"metric {tag}": value for tag, value in run.metrics.items() if tag not in tags}
    return {
        **outcome,
        **steps,
        **metrics,
        **{f"last {tag}": run.curves[tag][max(run.curves[tag])] for tag in tags},
    }
