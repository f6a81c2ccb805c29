"""Recurrent layers and attention: the size of one element of the sequence."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    origin_text,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.records import CrashFact

_RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")


def explain_sequence(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or not layer.inputs or not layer.inputs[0].shape:
        return None
    shape = layer.inputs[0].shape
    if layer.kind in _RECURRENT:
        setting = Setting(layer, "input_size", 0, shape[-1])
        what, why = "input", "A recurrent layer takes sequences whose elements have input_size features each"
    elif layer.kind == "MultiheadAttention":
        setting = Setting(layer, "embed_dim", 0, shape[-1])
        what, why = "query", "Attention splits the last dimension of its query, embed_dim, over the heads"
    else:
        return None
    if setting.got == setting.built_for:
        return None
    heads = int(layer.settings.get("num_heads", 1))
    uneven = f", with a number of heads that divides {setting.got}" if setting.got % heads else ""
    return Blame(
        message=f"{layer_name(layer)} got {setting.got} features per element of the sequence but was built for "
        f"{setting.built_for}{setting.built_text()}.",
        why=f"{why}; the {what} has shape {shape_text(shape)}.",
        fix=setting.fix(uneven + origin_text(crash, setting.got)),
        where=target_place(layer),
        evidence=layer_evidence(layer, input=shape_text(shape), got=setting.got, expected=setting.built_for),
        confidence=0.98,
        edit=None if uneven else setting.edit(),
    )
