"""All that can be compared without going through the steps."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping

from torch_debugger.log.compare_records import Matching, RunEvidence, phase_of, shared_tags
from torch_debugger.log.run_facts import merge_hparams
from torch_debugger.records import (
    BatchFact,
    BatchLook,
    ClipFact,
    HparamsFact,
    LoaderFact,
    ModelFact,
    OptimizerFact,
    ParameterFact,
    SchedulerFact,
    SeedFact,
    Surroundings,
)
from torch_debugger.records.findings import Difference, Topic


def compare_topics(first: RunEvidence, second: RunEvidence, matching: Matching) -> tuple[Topic, ...]:
    return (
        compare_code(first, second),
        compare_settings(first, second),
        compare_optimizers(first, second, matching),
        compare_models(first, second, matching),
        compare_data(first, second),
        compare_environment(first, second),
        compare_outcomes(first, second),
    )


# What the runs were told: arguments, hyperparameters, seeds; optimizers, schedules and clips.
def compare_settings(first: RunEvidence, second: RunEvidence) -> Topic:
    ours, theirs = _settings_of(first), _settings_of(second)
    if not ours or not theirs:
        return Topic("settings", unseen=f"{(second if ours else first).name} does not say how it was started")
    return Topic("settings", differences(ours, theirs))


def _settings_of(run: RunEvidence) -> dict[str, object]:
    settings: dict[str, object] = {} if run.run is None else {"arguments": run.run.arguments}
    settings |= merge_hparams(run.facts(HparamsFact)) | run.hparams
    for seeds in run.facts(SeedFact):
        settings |= {f"seed of {library}": seed for library, seed in seeds.seeds.items()}
    return settings


def compare_optimizers(first: RunEvidence, second: RunEvidence, matching: Matching) -> Topic:
    ours, theirs = _optimized(first), _optimized(second)
    if not ours or not theirs:
        return Topic("optimizer", unseen="an optimizer was not seen in both runs")
    renamed = {matching.optimizers.get(name, name): facts for name, facts in ours.items()}
    found = [
        each
        for name in {**renamed, **theirs}
        for each in differences(_prefixed(name, renamed.get(name, {})), _prefixed(name, theirs.get(name, {})))
    ]
    schedules = differences(_scheduled(first), _scheduled(second)) + differences(_clipped(first), _clipped(second))
    return Topic("optimizer", (*found, *schedules))


def _prefixed(name: str, facts: Mapping[str, object]) -> dict[str, object]:
    return {f"{name}: {key}": value for key, value in facts.items()}


def _optimized(run: RunEvidence) -> dict[str, dict[str, object]]:
    """Of each optimizer its kind and the settings of its groups when it was first seen."""
    found: dict[str, dict[str, object]] = {}
    for fact in run.facts(OptimizerFact):
        if fact.name not in found:
            several = len(fact.settings) > 1
            found[fact.name] = {"kind": fact.kind, "parameters": len(fact.parameters)} | {
                f"{key} of group {number}" if several else key: value
                for number, group in enumerate(fact.settings)
                for key, value in group.items()
            }
    return found


def _scheduled(run: RunEvidence) -> dict[str, object]:
    found: dict[str, object] = {}
    for fact in run.facts(SchedulerFact):
        found |= {f"schedule {fact.number}": fact.kind, **_prefixed(fact.kind, fact.settings)}
    return found


def _clipped(run: RunEvidence) -> dict[str, object]:
    return {f"clipping of {fact.optimizer or 'gradients'} at": fact.limit for fact in run.facts(ClipFact)[:1]}


# What differs in the data: the loaders, the shape of batches, and which samples they held.
SAMPLES = "samples that were looked at"


def compare_data(first: RunEvidence, second: RunEvidence) -> Topic:
    ours, theirs = _facts(first), _facts(second)
    if not ours and not theirs:
        return Topic("data", unseen="no DataLoader was seen")
    order = _order(first, second)
    return Topic("data", differences(ours, theirs) + ((order,) if order else ()))


def _facts(run: RunEvidence) -> dict[str, object]:
    found: dict[str, object] = {}
    for fact in run.facts(LoaderFact):
        kept = {
            "dataset": fact.dataset, "samples": fact.samples, "batch size": fact.batch_size, "batches": fact.length,
            "shuffled": fact.shuffle, "drop_last": fact.drop_last, "workers": fact.workers,
        }  # fmt: skip
        found |= _prefixed(f"loader {fact.number}", kept)
    steps = [step for kind, step in run.looks if kind is BatchFact]
    facts = run.looks_at(BatchFact, min(steps)) if steps else []
    return found | {f"first {fact.name}": f"{'x'.join(map(str, fact.shape))} {fact.dtype}" for fact in facts}


def _order(first: RunEvidence, second: RunEvidence) -> Difference | None:
    """Only where batches that were looked at in both runs held other samples, or in another order.

    Looks are rationed by time, so two runs look at other batches: those of one run alone tell nothing.
    """
    ours, theirs = _samples(first), _samples(second)
    both = [batch for batch in ours if batch in theirs]
    if all(ours[batch] == theirs[batch] for batch in both):
        return None
    mine, others = ({sample for batch in both for sample in run[batch]} for run in (ours, theirs))
    alike = "the same ones in another order" if mine == others else f"{len(mine & others)} of them in both runs"
    return Difference(SAMPLES, f"{len(mine)}", f"{len(others)}, {alike}")


_Batch = tuple[int, int, int, str, tuple[int, ...]]  # loader, iteration, place in it, tensor, shape


def _samples(run: RunEvidence) -> dict[_Batch, tuple[int, ...]]:
    steps = sorted(step for kind, step in run.looks if kind is BatchLook)
    looks = [look for step in steps for look in run.looks_at(BatchLook, step) if look.trained]
    return {
        (look.loader, look.iteration, look.index, tensor.name, tensor.shape): tensor.samples
        for look in looks
        for tensor in look.tensors
        if tensor.samples
    }


# What differs in the models: modules, their settings, parameters.
def compare_models(first: RunEvidence, second: RunEvidence, matching: Matching) -> Topic:
    ours, theirs = first.facts(ModelFact), second.facts(ModelFact)
    if not ours or not theirs:
        return Topic("model", unseen="a model was not seen in both runs")
    left = {matching.other(module.path): module for fact in ours for module in fact.modules}
    right = {module.path: module for fact in theirs for module in fact.modules}
    found: list[Difference] = []
    for path in {**left, **right}:
        one, other = left.get(path), right.get(path)
        if one is None or other is None:
            found.append(Difference(path, one.kind if one else "", other.kind if other else ""))
        else:
            left_facts: dict[str, object] = {"kind": one.kind, **one.settings}
            right_facts: dict[str, object] = {"kind": other.kind, **other.settings}
            found += differences(_prefixed(path, left_facts), _prefixed(path, right_facts))
    parameters = differences(
        {matching.other(each.path): _described(each) for fact in ours for each in fact.parameters},
        {each.path: _described(each) for fact in theirs for each in fact.parameters},
    )
    return Topic("model", (*found, *parameters))


def _described(parameter: ParameterFact) -> str:
    shape = "x".join(map(str, parameter.shape)) or "one number"
    frozen = "" if parameter.trainable else ", frozen"
    return f"{shape} {parameter.dtype}{frozen}"


# What differs around the code: Python, torch, packages, hardware, variables.
def compare_environment(first: RunEvidence, second: RunEvidence) -> Topic:
    if first.run is None or second.run is None:
        missing = (first if first.run is None else second).name
        return Topic("environment", unseen=f"the log of {missing} says nothing about it")
    programs = (
        {"python": run.python, "torch": run.torch, "device": run.device, "torch-debugger": run.debugger}
        for run in (first.run, second.run)
    )
    found = differences(*programs)
    ours, theirs = first.surroundings, second.surroundings
    if ours is None or theirs is None:
        missing = (first if ours is None else second).name
        return Topic("environment", found, unseen=f"the log of {missing} holds no packages and no hardware")
    ranks = differences({"processes": ours.world_size}, {"processes": theirs.world_size})
    packages = tuple(each for each in differences(ours.packages, theirs.packages) if each.name != "torch")
    hardware = differences(ours.hardware, theirs.hardware)
    return Topic("environment", found + ranks + packages + hardware + differences(ours.environment, theirs.environment))


# What differs in the code: the script's text, the commit, and what was not committed.
_CONTEXT = 1  # lines around a change


def compare_code(first: RunEvidence, second: RunEvidence) -> Topic:
    ours, theirs = first.surroundings, second.surroundings
    if ours is None or theirs is None:
        missing = first.name if ours is None else second.name
        return Topic("code", unseen=f"the log of {missing} does not hold the script's source")
    found = differences(_identity(ours), _identity(theirs))
    lines = [*_text_diff(ours.source, theirs.source, ours, theirs)]
    if ours.git_diff != theirs.git_diff and not lines:
        lines = [*_text_diff(ours.git_diff, theirs.git_diff, ours, theirs)]
    hidden = "" if ours.source and theirs.source else "the text of a script was not kept"
    return Topic("code", found, tuple(lines), hidden if ours.script_hash != theirs.script_hash else "")


def _identity(of: Surroundings) -> dict[str, object]:
    return {
        "script": os.path.basename(of.script),
        "hash of the script": of.script_hash[:12],
        "commit": of.git_commit[:12],
        "branch": of.git_branch,
        "uncommitted changes": "yes" if of.git_dirty else "no",
    }


def _text_diff(before: str, after: str, ours: Surroundings, theirs: Surroundings) -> list[str]:
    if not before or not after:
        return []
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), ours.script, theirs.script, lineterm="", n=_CONTEXT
    )
    return list(lines)


# How the runs ended: steps, outcome, and the last value of every curve.
def compare_outcomes(first: RunEvidence, second: RunEvidence) -> Topic:
    shared = [tag for tag in shared_tags(first, second) if phase_of(tag) in ("loss", "evaluation")]
    return Topic("outcome", differences(_ended(first, shared), _ended(second, shared)))


def _ended(run: RunEvidence, tags: list[str]) -> dict[str, object]:
    outcome = {"outcome": run.end.outcome, "a step is one of": run.end.counted} if run.end else {"outcome": ""}
    return {
        **outcome,
        "steps": max(run.steps, default=0),
        **{f"metric {tag}": value for tag, value in run.metrics.items() if tag not in tags},
        **{f"last {tag}": run.curves[tag][max(run.curves[tag])] for tag in tags},
    }


# Dictionaries of two runs compared key by key, their values as text.
def differences(first: Mapping[str, object], second: Mapping[str, object]) -> tuple[Difference, ...]:
    """What is not the same, in the first one's order; a key that one of them does not have counts too."""
    keys = dict.fromkeys([*first, *second])
    shown = ((key, _text(first.get(key)), _text(second.get(key))) for key in keys)
    return tuple(Difference(key, ours, theirs) for key, ours, theirs in shown if ours != theirs)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (tuple, list)):
        return "x".join(map(str, value)) if all(isinstance(each, int) for each in value) else " ".join(value)
    return str(value)
