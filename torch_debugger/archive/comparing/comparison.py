"""Two runs and their replicates, compared in every respect."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.archive.comparing.causes import find_cause
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.findings import find_suspect, verdicts
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.noise import measure_noise
from torch_debugger.archive.comparing.parting import find_parting
from torch_debugger.archive.comparing.replicates import sort_replicates
from torch_debugger.archive.comparing.tags import unshared_tags
from torch_debugger.archive.comparing.topics import compare_topics
from torch_debugger.records.comparison_of_runs import Parting, RunsComparison


def compare_runs(
    first: RunEvidence, second: RunEvidence, replicates: Sequence[RunEvidence] = ()
) -> RunsComparison:
    matching = Matching(first, second)
    topics = compare_topics(first, second, matching)
    parting = find_parting(first, second, matching)
    sorted_runs = sort_replicates(first, second, replicates)
    ours = [first, *(run for run, whose in sorted_runs if whose in ("first", "both"))]
    theirs = [second, *(run for run, whose in sorted_runs if whose == "second")]
    return RunsComparison(
        first.name,
        second.name,
        parting,
        find_cause(parting, first, second, matching, topics),
        topics,
        measure_noise(ours, theirs),
        tuple((run.name, whose) for run, whose in sorted_runs),
        matching.renamed,
        (
            *((name, "first") for name in (*matching.unmatched_first, *unshared_tags(first, second))),
            *((name, "second") for name in (*matching.unmatched_second, *unshared_tags(second, first))),
        ),
        _advice(parting, first),
        _missing(first, second),
        verdicts(first, second),
        find_suspect(parting, first, second),
        tuple(run.name for run in (first, second) if run.is_foreign),
    )


def _advice(parting: Parting, first: RunEvidence) -> str:
    """The command that makes the next comparison more exact."""
    if parting.gap is None or parting.exact or first.run is None:
        return ""
    words = " ".join([first.run.script, *first.run.arguments])
    return f"torch-debugger run --deep-steps {parting.gap.step} {words}"


def _missing(*runs: RunEvidence) -> tuple[str, ...]:
    return tuple(f"{run.name}: {sentence}" for run in runs for sentence in run.damage)
