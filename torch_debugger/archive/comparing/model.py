"""What differs in the models: modules, their settings, parameters."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.records import ModelFact, ModuleFact, ParameterFact
from torch_debugger.records.comparison_of_runs import Difference, Topic


def compare_models(first: RunEvidence, second: RunEvidence, matching: Matching) -> Topic:
    ours, theirs = first.facts(ModelFact), second.facts(ModelFact)
    if not ours or not theirs:
        return Topic("model", unseen="a model was not seen in both runs")
    found = _modules(ours, theirs, matching) + _parameters(ours, theirs, matching)
    return Topic("model", found)


def _modules(ours: list[ModelFact], theirs: list[ModelFact], matching: Matching) -> tuple[Difference, ...]:
    left = {matching.other(module.path): module for fact in ours for module in fact.modules}
    right = {module.path: module for fact in theirs for module in fact.modules}
    found: list[Difference] = []
    for path in {**left, **right}:
        found += _one(path, left.get(path), right.get(path))
    return tuple(found)


def _one(path: str, ours: ModuleFact | None, theirs: ModuleFact | None) -> tuple[Difference, ...]:
    if ours is None or theirs is None:
        return (Difference(path, ours.kind if ours else "", theirs.kind if theirs else ""),)
    return differences(
        {f"{path}: {key}": value for key, value in _facts(ours).items()},
        {f"{path}: {key}": value for key, value in _facts(theirs).items()},
    )


def _facts(module: ModuleFact) -> dict[str, object]:
    return {"kind": module.kind, **module.settings}


def _parameters(ours: list[ModelFact], theirs: list[ModelFact], matching: Matching) -> tuple[Difference, ...]:
    left = {matching.other(each.path): each for fact in ours for each in fact.parameters}
    right = {each.path: each for fact in theirs for each in fact.parameters}
    return differences(
        {path: _described(each) for path, each in left.items()},
        {path: _described(each) for path, each in right.items()},
    )


def _described(parameter: ParameterFact) -> str:
    shape = "x".join(map(str, parameter.shape)) or "one number"
    frozen = "" if parameter.trainable else ", frozen"
    return f"{shape} {parameter.dtype}{frozen}"
