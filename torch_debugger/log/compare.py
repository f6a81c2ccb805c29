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
from torch_debugger.records.findings import Noise, Parting, RunsComparison, Suspect
from torch_debugger.system.errors import UsageError


def compare(first: Run, second: Run, replicates: Sequence[Run] = ()) -> RunsComparison:
    runs = [first, second, *replicates]
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        names = [run.folder for run in runs]
    ours, theirs, *others = (_evidence(run, name) for run, name in zip(runs, names, strict=True))
    for run, evidence in zip(runs, (ours, theirs), strict=False):  # replicates need no judgement
        evidence.findings, evidence.verdict = run.findings, run.verdict
    return compare_runs(ours, theirs, others)


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
    advice = ""  # the command that makes the next comparison more exact
    if parting.gap is not None and not parting.exact and first.run is not None:
        words = " ".join([first.run.script, *first.run.arguments])
        advice = f"torch-debugger run --deep-steps {parting.gap.step} {words}"
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
        advice,
        tuple(f"{run.name}: {sentence}" for run in (first, second) for sentence in run.damage),
        tuple((run.name, run.verdict) for run in (first, second) if not run.is_foreign),
        find_suspect(parting, first, second),
        tuple(run.name for run in (first, second) if run.is_foreign),
    )


# Whose replicate a run is: that of the run which it resembles more in all but its seed.
_KINDS = ("settings", "optimizer", "code", "model", "data")


def sort_replicates(
    first: RunEvidence, second: RunEvidence, replicates: Sequence[RunEvidence]
) -> list[tuple[RunEvidence, str]]:
    """Each with first, second, or both where it is as like the one as the other."""
    apart = [(run, _apart(first, run), _apart(second, run)) for run in replicates]
    return [(run, "both" if one == other else "first" if one < other else "second") for run, one, other in apart]


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
    found: list[Noise] = []
    for tag in tags:
        common = sorted(set.intersection(*(set(run.curves[tag]) for run in (*first, *second))))
        if not common or phase_of(tag) not in ("loss", "evaluation"):
            continue
        steps = common[-max(1, len(common) // _LAST_PART) :]
        ours, theirs = (
            tuple(float(np.mean([run.curves[tag][step] for step in steps])) for run in runs) for runs in (first, second)
        )
        found.append(Noise(tag, ours, theirs, *compare_means(ours, theirs), (steps[0], steps[-1])))
    return tuple(found)


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


# What the debugger found in one run alone, and may be why they part.
_ON_DATA = "TD2"


def find_suspect(parting: Parting, first: RunEvidence, second: RunEvidence) -> Suspect | None:
    """Of runs that were both judged; the most serious where there are several."""
    gap = parting.gap
    if gap is None or first.is_foreign or second.is_foreign:
        return None
    # What a model is made with or given is no consequence of how it is trained.
    if gap.phase == "weights" and gap.step == parting.first_step:
        return None
    for run, other in ((second, first), (first, second)):
        known = {finding.check for finding in other.findings}
        for finding in run.findings:
            is_alone = finding.severity != "note" and finding.check not in known
            on_time = finding.first_step <= gap.step
            if is_alone and on_time and (gap.phase != "batch" or finding.check.startswith(_ON_DATA)):
                return Suspect(run.name, other.name, finding)
    return None
