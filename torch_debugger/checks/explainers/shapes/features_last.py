"""Features that sit in another dimension than the layer looks at: sequences, before or after a turn."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, layer_name, shape_evidence, shape_text
from torch_debugger.checks.explainers.entries import change_input
from torch_debugger.records import CrashFact, LayerFact

_FEATURES_LAST = (
    "Embedding", "Linear", "LayerNorm", "LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoder",
    "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer",
)  # fmt: skip


def came_features_last(crash: CrashFact, shape: tuple[int, ...]) -> bool:
    """Whether a layer that keeps features in the last dimension gave this shape."""
    return any(step.kind in _FEATURES_LAST and shape in step.made for step in crash.flow)


def features_in_the_middle(crash: CrashFact, layer: LayerFact, wanted: int, why: str) -> Blame | None:
    """A layer that reads the last dimension of [batch, features, length], as convolutions give it."""
    shape = layer.inputs[0].shape
    if len(shape) != 3 or shape[1] != wanted or shape[2] == wanted or came_features_last(crash, shape):
        return None
    change = change_input(crash, layer, "{}.transpose(1, 2)")
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(shape)}, with the {wanted} features it was built for in "
        "dimension 1; it wants them in the last.",
        why=f"{why}; convolutions keep their channels in dimension 1.",
        fix=f"Turn the two dimensions: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, wanted),
        confidence=0.93,
        edit=change.edit,
    )


def features_at_the_end(crash: CrashFact, layer: LayerFact, wanted: int, why: str) -> Blame | None:
    """A layer that reads dimension 1, given [batch, length, features]: turned for it, and turned back."""
    shape = layer.inputs[0].shape
    convolved = any("Conv" in step.kind and shape in step.made for step in crash.flow)
    if len(shape) != 3 or shape[2] != wanted or shape[1] == wanted or convolved:
        return None
    change = change_input(crash, layer, "{}.transpose(1, 2)", after=".transpose(1, 2)")
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(shape)}, with the {wanted} features it was built for in "
        "the last dimension; it wants them in dimension 1.",
        why=f"{why}.",
        fix=f"Turn the two dimensions for it, and back after it: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, wanted),
        confidence=0.95,
        edit=change.edit,
    )
