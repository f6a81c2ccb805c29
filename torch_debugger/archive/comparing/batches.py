"""What went into a model at a step, as numbers by name: batches of the loaders, inputs of the model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.records import BatchFact, BatchLook, InputLook, RootInput

VALUES, WHOLE = "values", "whole numbers"
Groups = dict[
    str, dict[str, float]
]  # shape, values, whole numbers, labels: numbers that are measured by one another


def batch_numbers(run: RunEvidence, step: int) -> dict[str, Groups]:
    """batch[0], batch[1], and for the second batch of a step "batch[0] (2)"."""
    named = _numbered((fact.name, _groups(fact)) for fact in run.looks_at(BatchFact, step))
    looked = _numbered(
        (tensor.name, {"labels": {f"label {place}": float(label) for place, label in enumerate(tensor.labels)}})
        for look in run.looks_at(BatchLook, step)
        if look.trained
        for tensor in look.tensors
        if tensor.labels
    )
    return {name: named.get(name, {}) | looked.get(name, {}) for name in {**named, **looked}}


def input_numbers(run: RunEvidence, step: int) -> dict[str, Groups]:
    """By the layer that is given them; else by the model."""
    layers = _numbered((look.layer, _groups(look)) for look in run.looks_at(InputLook, step))
    return layers or _numbered(
        (look.root, {"shape": _elements(look.shape), VALUES: {"mean": look.mean, "std": look.std}})
        for look in run.looks_at(RootInput, step)
        if look.trained
    )


def _groups(fact: BatchFact | InputLook) -> Groups:
    values = {"mean": fact.mean, "std": fact.std, "min": fact.minimum, "max": fact.maximum}
    return {"shape": _elements(fact.shape), VALUES if "float" in fact.dtype else WHOLE: values}


def _elements(shape: tuple[int, ...]) -> dict[str, float]:
    return {"elements": float(math.prod(shape))}


def _numbered(found: Iterator[tuple[str, Groups]]) -> dict[str, Groups]:
    seen: Counter[str] = Counter()
    named: dict[str, Groups] = {}
    for name, groups in found:
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name} ({seen[name]})"] = groups
    return named
