"""Two runs and their replicates, read and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from torch_debugger.log.compare_causes import find_cause
from torch_debugger.log.compare_divergence import find_parting
from torch_debugger.log.compare_records import Matching, RunEvidence, phase_of, shared_tags, unshared_tags
from torch_debugger.log.compare_settings import SAMPLES, compare_topics
from torch_debugger.log.run import Run
from torch_debugger.records import Finding
from torch_debugger.records.findings import Gap, Noise, Parting, RunsComparison, Suspect
from torch_debugger.system.errors import UsageError


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


# Two runs and their replicates, compared in every respect.
def compare_runs(first: RunEvidence, second: RunEvidence, replicates: Sequence[RunEvidence] = ()) -> RunsComparison:
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


# Whose replicate a run is: that of the run which it resembles more in all but its seed.
_KINDS = ("settings", "optimizer", "code", "model", "data")


def sort_replicates(
    first: RunEvidence, second: RunEvidence, replicates: Sequence[RunEvidence]
) -> list[tuple[RunEvidence, str]]:
    """Each with first, second, or both where it is as like the one as the other."""
    return [(run, _whose(_apart(first, run), _apart(second, run))) for run in replicates]


def _whose(from_first: int, from_second: int) -> str:
    if from_first == from_second:
        return "both"
    return "first" if from_first < from_second else "second"


def _apart(one: RunEvidence, other: RunEvidence) -> int:
    topics = compare_topics(one, other, Matching(one, other))
    lines = sum(line[:1] in "+-" for topic in topics for line in topic.lines)
    others = [each for topic in topics if topic.name in _KINDS for each in topic.differences]
    return lines + sum("seed" not in each.name and each.name != SAMPLES for each in others)


# Whether two runs end apart by more than runs of one kind do, as replicates with other seeds tell.
_LAST_PART = 10  # a curve's end is the mean of its last tenth: one batch says little
_SLICES = 2000  # of the angle over which Student's distribution is summed up


def measure_noise(first: Sequence[RunEvidence], second: Sequence[RunEvidence]) -> tuple[Noise, ...]:
    """Of each number that all runs have: the loss at the last step that all have, metrics at their last."""
    tags = shared_tags(*first, *second)
    found = [_of_tag(tag, first, second) for tag in tags if phase_of(tag) in ("loss", "evaluation")]
    return tuple(noise for noise in found if noise is not None)


def _of_tag(tag: str, first: Sequence[RunEvidence], second: Sequence[RunEvidence]) -> Noise | None:
    common = sorted(set.intersection(*(set(run.curves[tag]) for run in (*first, *second))))
    if not common:
        return None
    steps = common[-max(1, len(common) // _LAST_PART) :]
    ours = tuple(_end(run.curves[tag], steps) for run in first)
    theirs = tuple(_end(run.curves[tag], steps) for run in second)
    difference, spread, chance = compare_means(ours, theirs)
    return Noise(tag, ours, theirs, difference, spread, chance, (steps[0], steps[-1]))


def _end(curve: dict[int, float], steps: Sequence[int]) -> float:
    return float(np.mean([curve[step] for step in steps]))


def compare_means(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Their difference, the spread within each kind, and Student's chance of a difference this large."""
    difference = float(np.mean(second) - np.mean(first))
    freedom = len(first) + len(second) - 2
    if freedom < 1:
        return difference, math.nan, math.nan
    squares = sum(float(np.sum((np.asarray(kind) - np.mean(kind)) ** 2)) for kind in (first, second))
    spread = math.sqrt(squares / freedom)
    error = spread * math.sqrt(1 / len(first) + 1 / len(second))
    if not math.isfinite(difference) or not math.isfinite(error):
        return difference, spread, math.nan
    if error == 0.0:
        return difference, spread, 0.0 if difference else 1.0
    return difference, spread, _chance(abs(difference) / error, freedom)


def _chance(statistic: float, freedom: int) -> float:
    """Of |t| this large: with t = sqrt(freedom) tan(angle) the density becomes a power of the cosine."""
    norm = math.gamma((freedom + 1) / 2) / (math.gamma(freedom / 2) * math.sqrt(math.pi))
    width = (math.pi / 2 - math.atan(statistic / math.sqrt(freedom))) / _SLICES
    angles = math.pi / 2 - width * (np.arange(_SLICES) + 0.5)
    return min(1.0, 2.0 * norm * width * float(np.sum(np.cos(angles) ** (freedom - 1))))


# What the debugger found in each run, and which of it may be why they part.
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
