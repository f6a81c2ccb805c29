"""nn.Linear and the number of features per sample."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    place_text,
    product_text,
    shape_text,
)
from torch_debugger.checks.explainers.calls import calls_of, rewritten
from torch_debugger.checks.explainers.entries import change_input
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.shapes.features_last import features_in_the_middle
from torch_debugger.checks.explainers.shapes.origins import origin_text
from torch_debugger.checks.explainers.shapes.single_samples import explain_single_sample
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, LayerFact

_WHY = "A Linear layer multiplies the last dimension of its input, so that one must equal in_features"


_VIEW = re.compile(r"(Unsafe)?View|Reshape")


def explain_linear(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind != "Linear" or not layer.inputs or not layer.inputs[0].shape:
        return None
    shape, wanted = layer.inputs[0].shape, int(layer.settings["in_features"])
    if shape[-1] == wanted:
        return None
    if len(shape) > 2 and math.prod(shape[1:]) == wanted:
        return _not_flattened(crash, layer, shape)
    if len(shape) == 1 and shape[0] % wanted == 0 and shape[0] // wanted == _batch(crash):
        return _batch_flattened(layer, shape)
    single = explain_single_sample(crash, layer) if math.prod(shape) == wanted else None
    return (
        single
        or features_in_the_middle(crash, layer, wanted, _WHY)
        or _channels_not_pooled(layer, shape, wanted)
        or _samples_in_rows(crash, layer, shape, wanted)
        or _other_size(crash, layer, shape)
    )


def _other_size(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...]) -> Blame:
    setting = Setting(layer, "in_features", 0, shape[-1])
    return Blame(
        message=f"{layer_name(layer)} got {shape[-1]} features per sample but was built for "
        f"{setting.built_for}{setting.built_text()}.",
        why=f"{_WHY}; the input has shape {shape_text(shape)}.",
        fix=setting.fix(origin_text(crash, setting)),
        where=setting.where,
        evidence=layer_evidence(layer, input=shape_text(shape), got=shape[-1], expected=setting.built_for),
        confidence=0.99,
        edit=setting.edit(),
    )


def _channels_not_pooled(layer: LayerFact, shape: tuple[int, ...], wanted: int) -> Blame | None:
    """Feature maps [batch, channels, height, width] given to a layer that was built for the channels."""
    if len(shape) != 4 or shape[1] != wanted:
        return None
    return Blame(
        message=f"{layer_name(layer)} was built for {wanted} features per sample but got {shape_text(shape)}: "
        f"{wanted} channels of {product_text(shape[2:])} each.",
        why=f"{_WHY}; here it is {shape[-1]}, and the {wanted} are in dimension 1.",
        fix=f"Take the mean over height and width, `x.mean((2, 3))`, before the call at "
        f"{place_text(layer.call)}; or flatten, and build {layer_name(layer)} for {math.prod(shape[1:])}.",
        where=layer.call,
        evidence=layer_evidence(layer, input=shape_text(shape), got=shape[-1], expected=wanted),
        confidence=0.9,
    )


def _samples_in_rows(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...], wanted: int) -> Blame | None:
    """x.view(-1, 112) of 784 numbers a sample: seven rows for each, and the layer is right."""
    rows, rest = divmod(wanted, shape[-1])
    if len(shape) != 2 or rest or rows < 2 or shape[0] % rows:
        return None
    batch = shape[0] // rows
    tensors = [tensor for frame in crash.frames if frame.user for tensor in frame.tensors]
    views = [each for each in tensors if each.shape == shape and _VIEW.match(each.grad_fn)]
    if not views or not any(len(each.shape) > 1 and each.shape[0] == batch for each in tensors):
        return None
    name, cut = views[-1].name, f"the {wanted} features of each, which {layer_name(layer)} was built for"
    return Blame(
        message=f"`{name}` has {shape[0]} rows of {shape[-1]} features at {place_text(layer.call)}, for "
        f"{batch} samples: a view has cut {cut}, into {rows} rows.",
        why=f"view(-1, {shape[-1]}) makes as many rows as it takes; a sample has {rows} times that many.",
        fix=f"Keep the batch where `{name}` is made: `.flatten(1)`, or `.view({batch}, -1)` with the size of "
        f"the batch, in place of the view with {shape[-1]}.",
        where=layer.call,
        evidence=layer_evidence(layer, input=shape_text(shape), samples=batch, expected=wanted),
        confidence=0.95,
    )


def _not_flattened(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...]) -> Blame:
    wanted, change = math.prod(shape[1:]), _flatten(crash, layer)
    return Blame(
        message=f"{layer_name(layer)} wants {wanted} features per sample in one dimension but got "
        f"{shape_text(shape)}: the input was not flattened, {product_text(shape[1:])} = {wanted}.",
        why=f"{_WHY}; here it is {shape[-1]}, while all dimensions but the batch together hold {wanted}.",
        fix=f"Flatten all but the batch dimension: {change.text}.",
        where=change.where,
        evidence=layer_evidence(layer, input=shape_text(shape), got=shape[-1], expected=wanted),
        confidence=0.99,
        edit=change.edit,
    )


def _flatten(crash: CrashFact, layer: LayerFact) -> Change:
    """In front of the layer in an nn.Sequential literal, else around the argument of its call."""
    built, line = calls_of(layer.place.code or "", "Linear"), layer.place.code or ""
    name = (layer.path or "").rpartition(".")[2]
    if not name.isdigit() or len(built) != 1 or not line.startswith(built[0]):
        return change_input(crash, layer, "{}.flatten(1)")
    flatten = f"{built[0].partition('Linear(')[0]}Flatten()"
    edit = rewritten(layer.place, built[0], f"{flatten}, {built[0]}")
    return Change(f"put `{flatten}` before `{built[0]}`", edit, layer.place)


def _batch_flattened(layer: LayerFact, shape: tuple[int, ...]) -> Blame:
    wanted = int(layer.settings["in_features"])
    batch = shape[0] // wanted
    return Blame(
        message=f"{layer_name(layer)} got one row of {shape[0]} numbers: the batch of {batch} samples with "
        f"{wanted} features each was flattened into a single dimension.",
        why=f"{_WHY}; {shape[0]} = {batch} x {wanted}, so the batch dimension was flattened as well.",
        fix=f"Flatten from dimension 1 on, `x.flatten(1)`, before {layer_name(layer)} is called.",
        where=layer.call,
        evidence=layer_evidence(layer, input=shape_text(shape), got=shape[0], expected=wanted),
        confidence=0.95,
    )


def _batch(crash: CrashFact) -> int | None:
    """The size of the first dimension of what the model was called with."""
    for frame in crash.frames:
        if frame.module is not None and frame.tensors and frame.tensors[0].shape:
            return frame.tensors[0].shape[0]
    return None
