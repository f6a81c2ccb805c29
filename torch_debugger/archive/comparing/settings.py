"""What the runs were told: arguments, hyperparameters, seeds; optimizers, schedules and clips."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.archive.hparams import merge_hparams
from torch_debugger.records import ClipFact, HparamsFact, OptimizerFact, SchedulerFact, SeedFact
from torch_debugger.records.comparison_of_runs import Topic


def compare_settings(first: RunEvidence, second: RunEvidence) -> Topic:
    ours, theirs = _told(first), _told(second)
    if not ours or not theirs:
        return Topic("settings", unseen=f"{(second if ours else first).name} does not say how it was started")
    return Topic("settings", differences(ours, theirs))


def _told(run: RunEvidence) -> dict[str, object]:
    told: dict[str, object] = {} if run.run is None else {"arguments": run.run.arguments}
    told |= merge_hparams(run.facts(HparamsFact)) | run.hparams
    for seeds in run.facts(SeedFact):
        told |= {f"seed of {library}": seed for library, seed in seeds.seeds.items()}
    return told


def compare_optimizers(first: RunEvidence, second: RunEvidence, matching: Matching) -> Topic:
    ours, theirs = _optimized(first), _optimized(second)
    if not ours or not theirs:
        return Topic("optimizer", unseen="an optimizer was not seen in both runs")
    renamed = {matching.optimizers.get(name, name): facts for name, facts in ours.items()}
    found = [
        each
        for name in {**renamed, **theirs}
        for each in differences(_prefixed(name, renamed), _prefixed(name, theirs))
    ]
    schedules = differences(_scheduled(first), _scheduled(second)) + differences(
        _clipped(first), _clipped(second)
    )
    return Topic("optimizer", (*found, *schedules))


def _prefixed(name: str, facts: dict[str, dict[str, object]]) -> dict[str, object]:
    return {f"{name}: {key}": value for key, value in facts.get(name, {}).items()}


def _optimized(run: RunEvidence) -> dict[str, dict[str, object]]:
    """Of each optimizer its kind and the settings of its groups when it was first seen."""
    found: dict[str, dict[str, object]] = {}
    for fact in run.facts(OptimizerFact):
        if fact.name not in found:
            found[fact.name] = {"kind": fact.kind, "parameters": len(fact.parameters)} | _groups(fact)
    return found


def _groups(fact: OptimizerFact) -> dict[str, object]:
    several = len(fact.settings) > 1
    return {
        f"{key} of group {number}" if several else key: value
        for number, group in enumerate(fact.settings)
        for key, value in group.items()
    }


def _scheduled(run: RunEvidence) -> dict[str, object]:
    found: dict[str, object] = {}
    for fact in run.facts(SchedulerFact):
        own = {f"{fact.kind}: {key}": value for key, value in fact.settings.items()}
        found |= {f"schedule {fact.number}": fact.kind, **own}
    return found


def _clipped(run: RunEvidence) -> dict[str, object]:
    return {f"clipping of {fact.optimizer or 'gradients'} at": fact.limit for fact in run.facts(ClipFact)[:1]}
