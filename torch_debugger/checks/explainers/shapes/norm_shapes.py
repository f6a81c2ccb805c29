"""Normalization layers: the features they were built for, and the dimensions they take."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.calls import calls_of, rewritten
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.shapes.features_last import features_at_the_end, features_in_the_middle
from torch_debugger.checks.explainers.shapes.origins import origin_text
from torch_debugger.checks.explainers.shapes.single_samples import explain_single_sample
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
            return _wrong_rank(crash, layer, shape, batch_norm[1])
        return features_at_the_end(
            crash, layer, int(layer.settings["num_features"]), f"{layer.kind} normalizes what is in dimension 1"
        ) or _other_size(crash, Setting(layer, "num_features", 0, shape[1]), shape, "channels", 1)
    if layer.kind == "GroupNorm" and len(shape) > 1:
        return _other_size(crash, Setting(layer, "num_channels", 1, shape[1]), shape, "channels", 1)
    return _layer_norm(crash, layer, shape) if layer.kind == "LayerNorm" and shape else None


def _layer_norm(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...]) -> Blame | None:
    wanted = ast.literal_eval(str(layer.settings["normalized_shape"]))
    if len(wanted) == 1:
        single = dict(layer.settings) | {"normalized_shape": wanted[0]}
        layer = replace(layer, settings=single)
        return (
            features_in_the_middle(crash, layer, wanted[0], "LayerNorm normalizes the last dimension")
            or _channels_first(layer, shape, wanted[0])
            or _other_size(crash, Setting(layer, "normalized_shape", 0, shape[-1]), shape, "features", -1)
        )
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


def _channels_first(layer: LayerFact, shape: tuple[int, ...], wanted: int) -> Blame | None:
    """LayerNorm(64) after a convolution, whose 64 channels are not in the last dimension."""
    if len(shape) != 4 or shape[1] != wanted or shape[-1] == wanted:
        return None
    return Blame(
        message=f"{layer_name(layer)} normalizes a last dimension of {wanted} but got {shape_text(shape)}, "
        f"with {wanted} channels in dimension 1.",
        why="LayerNorm works on the last dimension; convolutions keep their channels in dimension 1.",
        fix=f"Use `nn.GroupNorm(1, {wanted})`, which normalizes dimension 1, or move the channels to the end "
        "for it with `.permute(0, 2, 3, 1)`.",
        where=target_place(layer),
        evidence=layer_evidence(layer, input=shape_text(shape), expected=wanted),
        confidence=0.93,
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
        fix=setting.fix(origin_text(crash, setting, f" {unit}" if dimension == 1 else "")),
        where=setting.where,
        evidence=layer_evidence(layer, input=shape_text(shape), got=setting.got, expected=setting.built_for),
        confidence=0.99,
        edit=setting.edit(),
    )


def _wrong_rank(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...], digit: str) -> Blame:
    features = int(layer.settings["num_features"])
    single = explain_single_sample(crash, layer) if shape[:1] == (features,) else None
    if single is not None:
        return single
    fitting, built = _FITTING.get(len(shape)), calls_of(layer.place.code or "", layer.kind)
    edit, fix = None, f"Bring its input to {_SHAPES[digit]}{_earlier(crash, features)}."
    if fitting is not None and len(built) == 1 and shape[1] == features:
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


def _earlier(crash: CrashFact, features: int) -> str:
    """A layer before it whose output would have fitted: the norm comes too late, after a flatten."""
    for step in reversed(crash.flow):
        if step.made and len(step.made[0]) > 3 and step.made[0][1] == features:
            return f"; what `{step.path}` gives, {shape_text(step.made[0])}, would fit: move it there"
    return ""
