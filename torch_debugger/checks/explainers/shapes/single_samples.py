"""A model called with one sample instead of a batch: what its layers then get."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, layer_name, shape_evidence, shape_text
from torch_debugger.checks.explainers.entries import model_entry
from torch_debugger.records import CrashFact, LayerFact

_WHY = (
    "The model was written for batches; convolutions take a single sample too, but what comes after them then "
    "reads the channels as the batch"
)


def explain_single_sample(crash: CrashFact, layer: LayerFact) -> Blame | None:
    """For a layer that cannot use its input, after a convolution that got the model's input without a batch."""
    entry = model_entry(crash)
    given = entry.inputs[0].shape if entry and entry.inputs else ()
    if entry is None or not any(
        _unbatched(step.kind, step.given) and step.given[0] == given for step in crash.flow
    ):
        return None
    change = entry.change("{}.unsqueeze(0)")
    return Blame(
        message=f"`{entry.module}` was called with one sample, {shape_text(given)}, without a batch dimension, "
        f"so {layer_name(layer)} got {shape_text(layer.inputs[0].shape)}.",
        why=f"{_WHY}.",
        fix=f"Make it a batch of one: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, f"[1, {', '.join(map(str, given))}] into {entry.module}"),
        confidence=0.95,
        edit=change.edit,
    )


def _unbatched(kind: str, given: tuple[tuple[int, ...], ...]) -> bool:
    match = re.fullmatch(r"Conv([123])d", kind)
    return match is not None and bool(given) and len(given[0]) == int(match[1]) + 1
