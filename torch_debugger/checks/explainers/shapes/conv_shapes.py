"""Convolutions: channels, the number of dimensions, and inputs smaller than the kernel."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    place_text,
    product_text,
    shape_evidence,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.entries import change_input, straight_from_data
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.shapes.conv_ranks import CONV_WHY, explain_rank, wanted_form
from torch_debugger.checks.explainers.shapes.features_last import came_features_last
from torch_debugger.checks.explainers.shapes.origins import origin_text
from torch_debugger.checks.explainers.shapes.window_sizes import sizes_of
from torch_debugger.records import CrashFact, LayerFact

_IMAGE_CHANNELS = (1, 3, 4)


def explain_conv(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    match = re.fullmatch(r"Conv(?:Transpose)?([123])d", layer.kind) if layer else None
    if layer is None or match is None or not layer.inputs:
        return None
    spatial, shape, channels = int(match[1]), layer.inputs[0].shape, int(layer.settings["in_channels"])
    if len(shape) not in (spatial + 1, spatial + 2):
        return explain_rank(crash, layer, spatial)
    if shape[-spatial - 1] == channels:
        return _too_small(layer, shape[-spatial:])
    if (place := _channels_at(crash, layer, spatial)) is not None:
        return _channels_elsewhere(crash, layer, place, len(shape) - spatial - 1)
    if len(shape) == spatial + 1:
        return _no_batch(crash, layer, spatial)
    return _other_channels(crash, layer, shape, shape[1])


def _channels_at(crash: CrashFact, layer: LayerFact, spatial: int) -> int | None:
    """The dimension that plausibly holds the channels, in a batch where dimension 1 does not.

    A size that happens to equal the channels wanted proves nothing between layers: only data as it
    comes in, or a sequence from a layer that keeps its features last, may have them elsewhere.
    """
    shape, channels = layer.inputs[0].shape, int(layer.settings["in_channels"])
    found = [place for place in range(len(shape) - spatial, len(shape)) if shape[place] == channels]
    if len(found) != 1 or (found[0] != len(shape) - 1 and spatial != 3):
        return None
    if spatial == 1:
        plausible = len(shape) == 3 and (straight_from_data(crash, layer) or came_features_last(crash, shape))
    else:
        plausible = channels in _IMAGE_CHANNELS and straight_from_data(crash, layer)
    return found[0] if plausible else None


def _other_channels(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...], got: int) -> Blame:
    setting = Setting(layer, "in_channels", 0, got)
    groups = int(layer.settings.get("groups", 1))
    maybe_last = shape[-1] == setting.built_for and straight_from_data(crash, layer)
    reason = f" and groups that divide {got}" if groups > 1 else ""
    if maybe_last:
        order = ", ".join(map(str, [0, len(shape) - 1, *range(1, len(shape) - 1)]))
        reason += f"; or, if its channels are in the last dimension, give it `x.permute({order})`"
    return Blame(
        message=f"{layer_name(layer)} got {got} channel{'s' * (got != 1)} but was built for {setting.built_for}"
        f"{setting.built_text()}.",
        why=f"{CONV_WHY}; the input has shape {shape_text(shape)}.",
        fix=setting.fix(reason if maybe_last else reason + origin_text(crash, setting, " channels")),
        where=setting.where,
        evidence=layer_evidence(layer, input=shape_text(shape), got=got, expected=setting.built_for),
        confidence=0.97,
        edit=None if groups > 1 or maybe_last else setting.edit(),
    )


def _channels_elsewhere(crash: CrashFact, layer: LayerFact, place: int, wanted: int) -> Blame:
    """`wanted` is where the channels belong: dimension 1 of a batch, the first of a single sample."""
    shape = layer.inputs[0].shape
    order = [*range(wanted), place, *(index for index in range(wanted, len(shape)) if index != place)]
    turn = "transpose(1, 2)" if order == [0, 2, 1] else f"permute({', '.join(map(str, order))})"
    change = change_input(crash, layer, f"{{}}.{turn}")
    last = "the last dimension" if place == len(shape) - 1 else f"dimension {place}"
    images = (
        "; images read by PIL, OpenCV or matplotlib have theirs last"
        if place == len(shape) - 1 and order != [0, 2, 1]
        else ""
    )
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(shape)}, with its {shape[place]} channels in {last}; it "
        f"wants them {'in dimension 1' if wanted else 'first'}.",
        why=f"{CONV_WHY}{images}.",
        fix=f"Move the channels forward: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, shape[place]),
        confidence=0.95,
        edit=change.edit,
    )


def _no_batch(crash: CrashFact, layer: LayerFact, spatial: int) -> Blame:
    """Without a batch dimension the first one is taken for the channels."""
    shape, channels = layer.inputs[0].shape, int(layer.settings["in_channels"])
    lacks_channel = channels == 1 and shape[0] not in _IMAGE_CHANNELS
    change = change_input(crash, layer, "{}.unsqueeze(1)")
    wanted = wanted_form(spatial, channels)
    bring = f"Bring its input to {wanted} before the call at {place_text(layer.call)}"
    what = (
        "a batch without a channel dimension"
        if lacks_channel
        else f"one sample of {shape[0]} channel{'s' * (shape[0] != 1)}"
    )
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(shape)}, {what}; it wants {wanted}.",
        why=f"{CONV_WHY}; without one, the {shape[0]} samples are taken for {shape[0]} channels of one sample."
        if lacks_channel
        else f"{CONV_WHY}; an input without one is taken for a single sample.",
        fix=f"Add the channel dimension: {change.text}." if lacks_channel else f"{bring}.",
        where=layer.call,
        evidence=shape_evidence(layer, wanted),
        confidence=0.95,
        edit=change.edit if lacks_channel else None,
    )


def _too_small(layer: LayerFact, sizes: tuple[int, ...]) -> Blame | None:
    if layer.kind.startswith("ConvTranspose"):
        return None
    kernel, padding, dilation = (
        sizes_of(layer, name, len(sizes)) for name in ("kernel_size", "padding", "dilation")
    )
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
