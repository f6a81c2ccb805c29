"""The constructor of a layer as the user wrote it, and how to add a keyword to it."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import layer_name, place_text, target_place
from torch_debugger.checks.explainers.calls import calls_of, one_line, rewritten, with_argument
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import LayerFact, Place

# Torch's own modules that hand arguments on to the attention they make.
ATTENTION_OWNERS = ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")


def constructor_place(layer: LayerFact) -> Place:
    """The constructor's line, with the code of all the lines it takes."""
    built = layer.constructions[:1]
    return built[0].place if built and built[0].place.line == layer.place.line else layer.place


def add_keyword(layer: LayerFact, written: str) -> Change:
    """Build the layer with one more argument: batch_first=True"""
    place = constructor_place(layer)
    kinds = (layer.kind, *(ATTENTION_OWNERS if layer.kind == "MultiheadAttention" else ()))
    calls = [call for kind in kinds for call in calls_of(place.code or "", kind)]
    if len(calls) != 1:
        line = f" at {place_text(layer.place)}" if layer.place.file else ""
        return Change(f"build {layer_name(layer)}{line} with {written}", None, target_place(layer))
    changed = with_argument(calls[0], written)
    text = f"change `{one_line(calls[0])}` to `{one_line(changed)}`"
    return Change(text, rewritten(place, calls[0], changed), target_place(layer))
