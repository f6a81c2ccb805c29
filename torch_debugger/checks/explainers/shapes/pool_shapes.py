"""Pooling: inputs that are too small, or have too few dimensions; and nn.Unflatten."""

from __future__ import annotations

import ast
import math
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
from torch_debugger.checks.explainers.shapes.conv_ranks import wanted_form
from torch_debugger.checks.explainers.shapes.window_sizes import sizes_of
from torch_debugger.records import CrashFact, LayerFact


def explain_pool(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    match = re.fullmatch(r"(?:Adaptive)?(?:Max|Avg)Pool([123])d", layer.kind) if layer else None
    if layer is None or match is None or not layer.inputs:
        return None
    spatial, shape = int(match[1]), layer.inputs[0].shape
    if len(shape) not in (spatial + 1, spatial + 2):
        return _wrong_rank(layer, spatial)
    return None if layer.kind.startswith("Adaptive") else _too_small(crash, layer, shape[-spatial:])


def _wrong_rank(layer: LayerFact, spatial: int) -> Blame:
    wanted = wanted_form(spatial, "channels")
    return Blame(
        message=f"{layer_name(layer)} is a {layer.kind} and wants {wanted}, but got "
        f"{shape_text(layer.inputs[0].shape)}.",
        why=f"{layer.kind} works on the last {spatial} dimension{'s' * (spatial > 1)} of each channel.",
        fix=f"Pool before flattening, or leave {layer_name(layer)} out at {place_text(target_place(layer))}.",
        where=target_place(layer),
        evidence=shape_evidence(layer, wanted),
        confidence=0.96,
    )


def _too_small(crash: CrashFact, layer: LayerFact, sizes: tuple[int, ...]) -> Blame | None:
    kernel, padding = (sizes_of(layer, name, len(sizes)) for name in ("kernel_size", "padding"))
    if not len(kernel) == len(padding) == len(sizes) or "too small" not in crash.message:
        return None
    if all(size + 2 * pad >= window for size, pad, window in zip(sizes, padding, kernel, strict=True)):
        return None
    return Blame(
        message=f"{layer_name(layer)} got a {product_text(sizes)} input, which is smaller than its "
        f"{product_text(kernel)} window{_way(crash)}.",
        why="Each pooling makes its input smaller, so an image can be pooled only a few times.",
        fix="Leave out one of the poolings, or give the model larger images.",
        where=target_place(layer),
        evidence=layer_evidence(layer, input=product_text(sizes), expected=product_text(kernel)),
        confidence=0.97,
    )


def _way(crash: CrashFact) -> str:
    """: the poolings before it went 32 -> 16 -> 8"""
    pools = [step for step in crash.flow if "Pool" in step.kind and step.given and step.made]
    ends = [str(step.given[0][-1]) for step in pools[:1]] + [str(step.made[0][-1]) for step in pools]
    return f": the poolings before it made the width {' -> '.join(ends)}" if pools else ""


def explain_unflatten(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind != "Unflatten" or not layer.inputs:
        return None
    shape, place = layer.inputs[0].shape, int(layer.settings.get("dim", 1))
    sizes = ast.literal_eval(str(layer.settings.get("unflattened_size", "()")))
    if not sizes or not -len(shape) <= place < len(shape) or -1 in sizes or math.prod(sizes) == shape[place]:
        return None
    wanted = math.prod(sizes)
    return Blame(
        message=f"{layer_name(layer)} makes {product_text(sizes)} = {wanted} of dimension {place} but got "
        f"{shape_text(shape)}, where it is {shape[place]}.",
        why="Unflatten only regroups elements, so the sizes must multiply to the dimension they replace.",
        fix=f"Build the layer before it for {wanted} outputs, or choose sizes that multiply to {shape[place]}.",
        where=target_place(layer),
        evidence=shape_evidence(layer, wanted),
        confidence=0.97,
    )
