"""Convolutions: channels, the number of dimensions, and inputs smaller than the kernel."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    origin_text,
    place_text,
    product_text,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.inputs import callee, change_argument
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.records import CrashFact, LayerFact

_AXES = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
_WHY = "A convolution takes its channels from dimension 1 of a batch, right after the batch dimension"


def explain_conv(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    match = re.fullmatch(r"Conv(?:Transpose)?([123])d", layer.kind) if layer else None
    if layer is None or match is None or not layer.inputs:
        return None
    spatial, shape, channels = int(match[1]), layer.inputs[0].shape, int(layer.settings["in_channels"])
    if len(shape) not in (spatial + 1, spatial + 2):
        return _wrong_rank(layer, shape, spatial)
    if shape[-spatial - 1] == channels:
        return _too_small(layer, shape[-spatial:])
    if shape[-1] == channels:
        return _channels_last(layer, shape)
    if len(shape) == spatial + 1 and channels == 1:
        return _no_channel(layer, shape, spatial)
    return _other_channels(crash, layer, shape, shape[-spatial - 1])


def _other_channels(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...], got: int) -> Blame:
    setting = Setting(layer, "in_channels", 0, got)
    return Blame(
        message=f"{layer_name(layer)} got {got} channels but was built for {setting.built_for}"
        f"{setting.built_text()}.",
        why=f"{_WHY}; the input has shape {shape_text(shape)}.",
        fix=setting.fix(origin_text(crash, got, " channels")),
        where=target_place(layer),
        evidence=layer_evidence(layer, input=shape_text(shape), got=got, expected=setting.built_for),
        confidence=0.97,
        edit=setting.edit(),
    )


def _channels_last(layer: LayerFact, shape: tuple[int, ...]) -> Blame:
    batched = len(shape) - 2 if len(shape) > 3 else 0
    order = [0, len(shape) - 1, *range(1, len(shape) - 1)] if batched else [2, 0, 1][: len(shape)]
    change = change_argument(layer.call, callee(layer), f"{{}}.permute({', '.join(map(str, order))})")
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(shape)}, with its {shape[-1]} channels in the last "
        f"dimension; it wants them {'in dimension 1' if batched else 'first'}.",
        why=f"{_WHY}; images read by PIL, OpenCV or matplotlib have theirs last.",
        fix=f"Move the channels forward: {change.text}.",
        where=change.where,
        evidence=layer_evidence(layer, input=shape_text(shape), expected=shape[-1]),
        confidence=0.95,
        edit=change.edit,
    )


def _no_channel(layer: LayerFact, shape: tuple[int, ...], spatial: int) -> Blame:
    change = change_argument(layer.call, callee(layer), "{}.unsqueeze(1)")
    wanted = shape_text_of(spatial, 1)
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(shape)}, a batch without a channel dimension; "
        f"it wants {wanted}.",
        why=f"{_WHY}; without one, the {shape[0]} samples are taken for {shape[0]} channels of one sample.",
        fix=f"Add the channel dimension: {change.text}.",
        where=change.where,
        evidence=layer_evidence(layer, input=shape_text(shape), expected=wanted),
        confidence=0.95,
        edit=change.edit,
    )


def shape_text_of(spatial: int, channels: int) -> str:
    return f"[batch, {channels}, {', '.join(_AXES[spatial])}]"


def _wrong_rank(layer: LayerFact, shape: tuple[int, ...], spatial: int) -> Blame:
    channels, wanted = (
        int(layer.settings["in_channels"]),
        shape_text_of(spatial, int(layer.settings["in_channels"])),
    )
    alone = len(shape) == spatial and channels == 1
    change = change_argument(layer.call, callee(layer), "{}[None, None]" if alone else "{}")
    missing = "Add the batch and channel dimensions: " + change.text
    general = f"Bring the input of {layer_name(layer)} to {wanted} before the call at {place_text(layer.call)}"
    return Blame(
        message=f"{layer_name(layer)} is a {layer.kind} and wants {wanted}, but got {len(shape)} "
        f"dimension{'s' if len(shape) > 1 else ''}: {shape_text(shape)}.",
        why=f"{_WHY}; the sizes {', '.join(_AXES[spatial])} follow.",
        fix=f"{missing if alone else general}.",
        where=layer.call,
        evidence=layer_evidence(layer, input=shape_text(shape), expected=wanted),
        confidence=0.98,
        edit=change.edit if alone else None,
    )


def _too_small(layer: LayerFact, sizes: tuple[int, ...]) -> Blame | None:
    if layer.kind.startswith("ConvTranspose"):
        return None
    kernel, padding, dilation = (_sizes(layer, name) for name in ("kernel_size", "padding", "dilation"))
    if not len(kernel) == len(padding) == len(dilation) == len(sizes):
        return None
    padded = [size + 2 * pad for size, pad in zip(sizes, padding, strict=True)]
    reach = [step * (size - 1) + 1 for step, size in zip(dilation, kernel, strict=True)]
    if all(size >= needed for size, needed in zip(padded, reach, strict=True)):
        return None
    with_padding = f", {product_text(padded)} with padding" if any(padding) else ""
    return Blame(
        message=f"{layer_name(layer)} got a {product_text(sizes)} input{with_padding}, "
        f"which is smaller than its {product_text(kernel)} kernel.",
        why="The kernel must fit into the padded input; each pooling or stride before makes that smaller.",
        fix=f"Use a smaller kernel or more padding at {place_text(target_place(layer))}, fewer poolings before "
        "it, or larger inputs.",
        where=target_place(layer),
        evidence=layer_evidence(layer, input=product_text(sizes), expected=product_text(reach)),
        confidence=0.98,
    )


def _sizes(layer: LayerFact, name: str) -> tuple[int, ...]:
    try:
        value = ast.literal_eval(str(layer.settings.get(name)))
    except (ValueError, SyntaxError):
        return ()
    return value if isinstance(value, tuple) else ()
