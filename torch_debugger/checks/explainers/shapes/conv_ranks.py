"""Convolutions that got too many or too few dimensions."""

from __future__ import annotations

import math

from torch_debugger.checks.explainers.blame import Blame, layer_name, place_text, shape_evidence, shape_text
from torch_debugger.checks.explainers.entries import change_input, model_entry, straight_from_data
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, LayerFact

CONV_WHY = "A convolution takes its channels from dimension 1 of a batch, right after the batch dimension"
AXES = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def wanted_form(spatial: int, channels: int | str) -> str:
    """[batch, 3, height, width]"""
    return f"[batch, {channels}, {', '.join(AXES[spatial])}]"


def explain_rank(crash: CrashFact, layer: LayerFact, spatial: int) -> Blame:
    shape, wanted = layer.inputs[0].shape, wanted_form(spatial, int(layer.settings["in_channels"]))
    change, what = _repair(crash, layer, spatial)
    general = f"Bring the input of {layer_name(layer)} to {wanted} before the call at {place_text(layer.call)}"
    flat = _flattened_before(crash, shape)
    return Blame(
        message=f"{layer_name(layer)} is a {layer.kind} and wants {wanted}, but got {len(shape)} "
        f"dimension{'s' if len(shape) > 1 else ''}: {shape_text(shape)}{flat}.",
        why=f"{CONV_WHY}; the sizes {', '.join(AXES[spatial])} follow.",
        fix=f"{what}: {change.text}." if change else f"{general}{'; flatten only after it' if flat else ''}.",
        where=layer.call,
        evidence=shape_evidence(layer, wanted),
        confidence=0.98,
        edit=change.edit if change else None,
    )


def _repair(crash: CrashFact, layer: LayerFact, spatial: int) -> tuple[Change | None, str]:
    """The one change that makes the form fit, where the shape leaves no doubt."""
    shape, channels = layer.inputs[0].shape, int(layer.settings["in_channels"])
    if len(shape) == 2 and spatial > 1 and shape[1] == channels:
        added = ", ".join(["None"] * spatial)
        return change_input(crash, layer, f"{{}}[:, :, {added}]"), "Give each value a place of its own"
    if len(shape) == spatial + 3 and shape[2] == channels:
        return change_input(crash, layer, "{}.flatten(0, 1)"), "Merge the first two dimensions into one batch"
    if not straight_from_data(crash, layer) or channels != 1 or len(shape) != spatial:
        return None, ""
    side = math.isqrt(shape[-1])
    if spatial == 2 and side > 4 and side * side == shape[-1] and shape[0] != shape[1]:
        return change_input(
            crash, layer, f"{{}}.view(-1, 1, {side}, {side})"
        ), "Give the rows their form as images"
    return change_input(crash, layer, "{}[None, None]"), "Add the batch and channel dimensions"


def _flattened_before(crash: CrashFact, shape: tuple[int, ...]) -> str:
    entry = model_entry(crash)
    for tensor in entry.inputs if entry else ():
        whole = (tensor.shape[0], math.prod(tensor.shape[1:])) if len(tensor.shape) > 2 else ()
        if entry and shape == whole:
            return f", flattened from the {shape_text(tensor.shape)} that `{entry.module}` was called with"
    return ""
