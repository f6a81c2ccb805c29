"""nn.MultiheadAttention: the size of query and key, their batch, and its masks."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    place_text,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.calls import calls_of
from torch_debugger.checks.explainers.constructors import add_keyword, constructor_place
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.shapes.features_last import features_in_the_middle
from torch_debugger.checks.explainers.shapes.sequence_shapes import other_element_size
from torch_debugger.checks.explainers.statements import Change, statement_at
from torch_debugger.records import CrashFact, LayerFact

_WHY = "Attention splits the last dimension of its query, embed_dim, over the heads"
_ORDER_WHY = "Attention takes [length, batch, features], or [batch, length, features] with batch_first=True"
_MASK_KEYWORDS = {"attn_mask": 0, "mask": 0, "src_mask": 0, "tgt_mask": 1}  # and the argument it is for
_NOWHERE = 99  # no position: by keyword only

Shapes = dict[str, tuple[int, ...]]


def explain_attention(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind not in ("MultiheadAttention", "Transformer") or not layer.inputs:
        return None
    shapes = {tensor.name: tensor.shape for tensor in layer.inputs}
    if layer.kind == "Transformer":
        source, target = shapes.get("src", ()), shapes.get("tgt", ())
        return (
            _other_batch(layer, source, target, ("source", "target"))
            if len(source) == len(target) == 3
            else None
        )
    query, key = shapes.get("query", ()), shapes.get("key", ())
    if not query or not key:
        return None
    if query[-1] != layer.settings["embed_dim"]:
        return features_in_the_middle(
            crash, layer, int(layer.settings["embed_dim"]), _WHY
        ) or other_element_size(crash, Setting(layer, "embed_dim", 0, query[-1]), "query", _WHY)
    if key[-1] != layer.settings["kdim"]:
        return _other_key(layer, shapes)
    if len(query) != 3 or len(key) != 3:
        return None
    return (
        _other_batch(layer, query, key) or _padding_mask(layer, shapes) or _attention_mask(crash, layer, shapes)
    )


def _other_key(layer: LayerFact, shapes: Shapes) -> Blame:
    key, value = shapes["key"], shapes.get("value", shapes["key"])
    own = bool(calls_of(constructor_place(layer).code or "", layer.kind))  # a decoder layer hands no kdim on
    change = add_keyword(layer, f"kdim={key[-1]}, vdim={value[-1]}") if own else None
    return Blame(
        message=f"{layer_name(layer)} got keys of {key[-1]} features but takes {layer.settings['kdim']}.",
        why="Keys and values have the query's embed_dim unless kdim and vdim say otherwise; "
        f"the key has shape {shape_text(key)}.",
        fix=f"Say what comes in: {change.text}."
        if change
        else f"Bring it to {layer.settings['kdim']} features before the call at {place_text(layer.call)}.",
        where=change.where if change else layer.call,
        evidence=_evidence(layer, shapes, int(layer.settings["kdim"])),
        confidence=0.97,
        edit=change.edit if change else None,
    )


def _other_batch(
    layer: LayerFact, query: tuple[int, ...], key: tuple[int, ...], names: tuple[str, str] = ("query", "key")
) -> Blame | None:
    batch = 0 if layer.settings["batch_first"] else 1
    if query[batch] == key[batch]:
        return None
    change = add_keyword(layer, "batch_first=True") if batch and query[0] == key[0] else None
    return Blame(
        message=f"{layer_name(layer)} got a {names[0]} {shape_text(query)} and a {names[1]} {shape_text(key)}: "
        f"it takes dimension {batch} for the batch, and there {query[batch]} meets {key[batch]}.",
        why=f"{_ORDER_WHY}.",
        fix=f"Dimension 0 is equal, so say that the batch comes first: {change.text}."
        if change
        else f"Give it {names[0]} and {names[1]} of one batch at {place_text(layer.call)}.",
        where=change.where if change else layer.call,
        evidence=_evidence(layer, {names[0]: query, names[1]: key}, query[batch]),
        confidence=0.95,
        edit=change.edit if change else None,
    )


def _padding_mask(layer: LayerFact, shapes: Shapes) -> Blame | None:
    mask, key, first = shapes.get("key_padding_mask", ()), shapes["key"], layer.settings["batch_first"]
    wanted = (key[0], key[1]) if first else (key[1], key[0])
    if len(mask) != 2 or mask == wanted:
        return None
    turned = mask == wanted[::-1]
    build = add_keyword(layer, "batch_first=True").text
    fix = f"Make the mask {shape_text(wanted)}, one row for each sample, at {place_text(layer.call)}"
    if turned and not first:
        fix = f"If the input is [batch, length, features], {build}; if not, give it the mask's transpose, `.T`"
    elif turned:
        fix = f"Give it the mask's transpose, `.T`, at {place_text(layer.call)}"
    return Blame(
        message=f"{layer_name(layer)} got a key_padding_mask {shape_text(mask)} but takes [batch, length], "
        f"which is {shape_text(wanted)} for the key {shape_text(key)}.",
        why=f"{_ORDER_WHY}; the mask is [batch, length] either way.",
        fix=f"{fix}.",
        where=target_place(layer) if turned and not first else layer.call,
        evidence=_evidence(layer, shapes, shape_text(wanted)),
        confidence=0.93,
    )


def _attention_mask(crash: CrashFact, layer: LayerFact, shapes: Shapes) -> Blame | None:
    mask, place = shapes.get("attn_mask", ()), 1 if layer.settings["batch_first"] else 0
    wanted = (shapes["query"][place], shapes["key"][place])
    if len(mask) != 2 or mask == wanted:
        return None
    larger = mask[0] >= wanted[0] and mask[1] >= wanted[1]
    change = _cut(crash, layer, place) if larger and wanted[0] == wanted[1] else None
    fix = (
        f"Cut it to the length of this batch: {change.text}"
        if change
        else f"Make the mask {shape_text(wanted)}"
    )
    return Blame(
        message=f"{layer_name(layer)} got a mask {shape_text(mask)} for {wanted[0]} queries and {wanted[1]} "
        f"keys; it must be {shape_text(wanted)}.",
        why="An attention mask says for each query which keys it may see: [queries, keys].",
        fix=f"{fix}.",
        where=layer.call,
        evidence=_evidence(layer, shapes, shape_text(wanted)),
        confidence=0.96,
        edit=change.edit if change else None,
    )


def _cut(crash: CrashFact, layer: LayerFact, place: int) -> Change:
    """mask[:x.size(1), :x.size(1)], under whatever keyword the user's call gives the mask."""
    statement, names = statement_at(crash, layer.call), list(reversed((layer.path or "").split(".")))
    for keyword, position in _MASK_KEYWORDS.items():
        given = statement.argument(names, position)
        if given is not None and statement.argument(names, _NOWHERE, keyword) is not None:
            size = f"{given.text}.size({place})"
            return statement.change(names, f"{{}}[:{size}, :{size}]", _NOWHERE, keyword)
    return Change(f"`mask[:length, :length]` at {place_text(layer.call)}", None, layer.call)


def _evidence(layer: LayerFact, shapes: Shapes, expected: float | str) -> dict[str, float | str]:
    told: dict[str, float | str] = {name: shape_text(shape) for name, shape in shapes.items()}
    return told | layer_evidence(layer, expected=expected)
