"""Normalization layers: the features they were built for, and the dimensions they take."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    origin_text,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.calls import calls_of, rewritten
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.records import CrashFact, LayerFact

_RANKS = {"1": (2, 3), "2": (4,), "3": (5,)}
_FITTING = {2: "BatchNorm1d", 3: "BatchNorm1d", 4: "BatchNorm2d", 5: "BatchNorm3d"}
_SHAPES = {
    "1": "[batch, features] or [batch, channels, length]",
    "2": "[batch, channels, height, width]",
    "3": "[batch, channels, depth, height, width]",
}


def explain_norm(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or not layer.inputs:
        return None
    shape, batch_norm = layer.inputs[0].shape, re.fullmatch(r"BatchNorm([123])d", layer.kind)
    if batch_norm is not None:
        if len(shape) not in _RANKS[batch_norm[1]]:
            return _wrong_rank(layer, shape, batch_norm[1])
        return _other_size(crash, Setting(layer, "num_features", 0, shape[1]), shape, "channels", 1)
    if layer.kind == "GroupNorm" and len(shape) > 1:
        return _other_size(crash, Setting(layer, "num_channels", 1, shape[1]), shape, "channels", 1)
    return _layer_norm(crash, layer, shape) if layer.kind == "LayerNorm" and shape else None


def _layer_norm(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...]) -> Blame | None:
    wanted = ast.literal_eval(str(layer.settings["normalized_shape"]))
    if len(wanted) == 1:
        single = dict(layer.settings) | {"normalized_shape": wanted[0]}
        layer = LayerFact(
            layer.path, layer.kind, single, layer.place, layer.call, layer.inputs, layer.parameters
        )
        return _other_size(crash, Setting(layer, "normalized_shape", 0, shape[-1]), shape, "features", -1)
    if shape[-len(wanted) :] == wanted:
        return None
    last = shape_text(shape[-len(wanted) :])
    return Blame(
        message=f"{layer_name(layer)} normalizes the last dimensions {shape_text(wanted)} but got "
        f"{shape_text(shape)}, which ends in {last}.",
        why="LayerNorm compares the last dimensions of its input with normalized_shape, one by one.",
        fix=f"Build it with normalized_shape={last}, or bring its input to that form.",
        where=target_place(layer),
        evidence=layer_evidence(layer, input=shape_text(shape), expected=shape_text(wanted)),
        confidence=0.97,
    )


def _other_size(
    crash: CrashFact, setting: Setting, shape: tuple[int, ...], unit: str, dimension: int
) -> Blame | None:
    layer = setting.layer
    if setting.got == setting.built_for:
        return None
    where = "dimension 1" if dimension == 1 else "the last dimension"
    return Blame(
        message=f"{layer_name(layer)} got {setting.got} {unit} but was built for {setting.built_for}"
        f"{setting.built_text()}.",
        why=f"{layer.kind} keeps one weight for each of the {unit} in {where} of its input; "
        f"the input has shape {shape_text(shape)}.",
        fix=setting.fix(origin_text(crash, setting.got, f" {unit}" if dimension == 1 else "")),
        where=target_place(layer),
        evidence=layer_evidence(layer, input=shape_text(shape), got=setting.got, expected=setting.built_for),
        confidence=0.99,
        edit=setting.edit(),
    )


def _wrong_rank(layer: LayerFact, shape: tuple[int, ...], digit: str) -> Blame:
    fitting, built = _FITTING.get(len(shape)), calls_of(layer.place.code or "", layer.kind)
    edit, fix = None, f"Bring its input to {_SHAPES[digit]}."
    if fitting is not None and len(built) == 1:
        changed = built[0].replace(layer.kind, fitting, 1)
        edit, fix = rewritten(layer.place, built[0], changed), f"Change `{built[0]}` to `{changed}`."
    return Blame(
        message=f"{layer_name(layer)} is a {layer.kind} and wants {_SHAPES[digit]}, "
        f"but got {shape_text(shape)}.",
        why=f"{layer.kind} normalizes over the batch and the dimensions after the channels.",
        fix=fix,
        where=target_place(layer),
        evidence=layer_evidence(layer, input=shape_text(shape), expected=_SHAPES[digit]),
        confidence=0.97,
        edit=edit,
    )
