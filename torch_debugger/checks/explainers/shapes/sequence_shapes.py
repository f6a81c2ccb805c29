"""Recurrent layers: the size of one element of the sequence."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, layer_evidence, layer_name, shape_evidence, shape_text
from torch_debugger.checks.explainers.entries import change_input
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.shapes.features_last import features_in_the_middle
from torch_debugger.checks.explainers.shapes.origins import origin_text
from torch_debugger.records import CrashFact, LayerFact

RECURRENT = ("RNN", "LSTM", "GRU")
CELLS = ("RNNCell", "LSTMCell", "GRUCell")
_WHY = "A recurrent layer takes sequences whose elements have input_size features each"


def explain_sequence(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind not in RECURRENT + CELLS or not layer.inputs or not layer.inputs[0].shape:
        return None
    wanted = int(layer.settings["input_size"])
    if layer.inputs[0].shape[-1] == wanted:
        return None
    return (
        _no_features(crash, layer, wanted)
        or features_in_the_middle(crash, layer, wanted, _WHY)
        or other_element_size(crash, Setting(layer, "input_size", 0, layer.inputs[0].shape[-1]), "input", _WHY)
    )


def _no_features(crash: CrashFact, layer: LayerFact, wanted: int) -> Blame | None:
    """Series of plain numbers, [batch, length], given to a layer that takes one feature a step."""
    shape = layer.inputs[0].shape
    if wanted != 1 or len(shape) != 2 or layer.kind in CELLS:
        return None
    change = change_input(crash, layer, "{}.unsqueeze(-1)")
    return Blame(
        message=f"{layer_name(layer)} takes one feature a step but got {shape_text(shape)}, numbers without a "
        "feature dimension.",
        why=f"{_WHY}; two dimensions are taken for one sequence, its {shape[1]} numbers for features.",
        fix=f"Add the dimension: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, f"[{shape[0]}, {shape[1]}, 1]"),
        confidence=0.95,
        edit=change.edit,
    )


def other_element_size(crash: CrashFact, setting: Setting, what: str, why: str) -> Blame:
    layer, heads = setting.layer, int(setting.layer.settings.get("num_heads", 1))
    uneven = f", with a number of heads that divides {setting.got}" if setting.got % heads else ""
    shape = shape_text(layer.inputs[0].shape)
    return Blame(
        message=f"{layer_name(layer)} got {setting.got} features per element of the sequence but was built for "
        f"{setting.built_for}{setting.built_text()}.",
        why=f"{why}; the {what} has shape {shape}.",
        fix=setting.fix(uneven + origin_text(crash, setting)),
        where=setting.where,
        evidence=layer_evidence(layer, input=shape, got=setting.got, expected=setting.built_for),
        confidence=0.98,
        edit=None if uneven else setting.edit(),
    )
