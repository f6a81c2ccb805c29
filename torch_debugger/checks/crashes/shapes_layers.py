"""nn.Linear and the number of features per sample."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace

from torch_debugger.checks.crashes.explanation import (
    Blame,
    layer_evidence,
    layer_name,
    place_text,
    product_text,
    shape_evidence,
    shape_text,
    target_place,
    tensor_evidence,
)
from torch_debugger.checks.crashes.layers_and_losses import Setting, change_input, model_entry, straight_from_data
from torch_debugger.checks.crashes.shapes_operators import joined_tensors
from torch_debugger.checks.crashes.user_code import Change, Line, called, calls_of, explain_nodes, number, rewritten
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
    setting = Setting(layer, "in_features", 0, shape[-1])
    return (
        _flattened(crash, layer, shape, wanted)
        or (explain_single_sample(crash, layer) if math.prod(shape) == wanted else None)
        or features_in_the_middle(crash, layer, wanted, _WHY)
        or _cut_otherwise(crash, layer, shape, wanted)
        or other_size(setting, "features per sample", _WHY, origin_text(crash, setting))
    )


def other_size(
    setting: Setting,
    unit: str,
    why: str,
    reason: str,
    confidence: float = 0.99,
    what: str = "input",
    plain: bool = True,
) -> Blame:
    """A layer that was built for another size than its input has; an edit only where that is `plain`."""
    shape = shape_text(setting.layer.inputs[0].shape)
    return Blame(
        message=f"{layer_name(setting.layer)} got {setting.got} {unit} but was built for {setting.built_for}"
        f"{setting.built_text()}.",
        why=f"{why}; the {what} has shape {shape}.",
        fix=setting.fix(reason),
        where=setting.where,
        evidence=layer_evidence(setting.layer, input=shape, got=setting.got, expected=setting.built_for),
        confidence=confidence,
        edit=setting.edit() if plain else None,
    )


def _flattened(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...], wanted: int) -> Blame | None:
    """Not flattened at all, or with the batch."""
    calls = (frame for frame in crash.frames if frame.module is not None and frame.tensors and frame.tensors[0].shape)
    entry = next(calls, None)  # with what the model was called
    batch = shape[0] // wanted
    if len(shape) > 2 and math.prod(shape[1:]) == wanted:
        change, got, confidence = _flatten(crash, layer), shape[-1], 0.99
        message = (
            f"{layer_name(layer)} wants {wanted} features per sample in one dimension but got "
            f"{shape_text(shape)}: the input was not flattened, {product_text(shape[1:])} = {wanted}."
        )
        why = f"here it is {got}, while all dimensions but the batch together hold {wanted}"
        fix = f"Flatten all but the batch dimension: {change.text}."
    elif len(shape) == 1 and shape[0] % wanted == 0 and entry is not None and batch == entry.tensors[0].shape[0]:
        change, got, confidence = Change("", None, layer.call), shape[0], 0.95
        message = (
            f"{layer_name(layer)} got one row of {got} numbers: the batch of {batch} samples with "
            f"{wanted} features each was flattened into a single dimension."
        )
        why = f"{got} = {batch} x {wanted}, so the batch dimension was flattened as well"
        fix = f"Flatten from dimension 1 on, `x.flatten(1)`, before {layer_name(layer)} is called."
    else:
        return None
    evidence = layer_evidence(layer, input=shape_text(shape), got=got, expected=wanted)
    return Blame(message, f"{_WHY}; {why}.", fix, change.where, evidence, confidence, change.edit)


def _flatten(crash: CrashFact, layer: LayerFact) -> Change:
    """In front of the layer in an nn.Sequential literal, else around the argument of its call."""
    built, line = calls_of(layer.place.code or "", "Linear"), layer.place.code or ""
    name = (layer.path or "").rpartition(".")[2]
    if not name.isdigit() or len(built) != 1 or not line.startswith(built[0]):
        return change_input(crash, layer, "{}.flatten(1)")
    flatten = f"{built[0].partition('Linear(')[0]}Flatten()"
    edit = rewritten(layer.place, built[0], f"{flatten}, {built[0]}")
    return Change(f"put `{flatten}` before `{built[0]}`", edit, layer.place)


def _cut_otherwise(crash: CrashFact, layer: LayerFact, shape: tuple[int, ...], wanted: int) -> Blame | None:
    """Feature maps given to a layer that was built for their channels; or samples cut into rows by a view."""
    name, line, confidence = layer_name(layer), place_text(layer.call), 0.9
    rows, rest = divmod(wanted, shape[-1])
    if len(shape) == 4 and shape[1] == wanted:
        message = (
            f"{name} was built for {wanted} features per sample but got {shape_text(shape)}: {wanted} channels of "
            f"{product_text(shape[2:])} each."
        )
        why = f"{_WHY}; here it is {shape[-1]}, and the {wanted} are in dimension 1."
        fix = (
            f"Take the mean over height and width, `x.mean((2, 3))`, before the call at {line}; or flatten, and "
            f"build {name} for {math.prod(shape[1:])}."
        )
        evidence = layer_evidence(layer, input=shape_text(shape), got=shape[-1], expected=wanted)
    elif len(shape) == 2 and not rest and rows > 1 and shape[0] % rows == 0:
        # x.view(-1, 112) of 784 numbers a sample: seven rows for each, and the layer is right.
        batch = shape[0] // rows
        tensors = [tensor for frame in crash.frames if frame.user for tensor in frame.tensors]
        views = [each.name for each in tensors if each.shape == shape and _VIEW.match(each.grad_fn)]
        if not views or not any(len(each.shape) > 1 and each.shape[0] == batch for each in tensors):
            return None
        cut = f"a view has cut the {wanted} features of each, which {name} was built for, into {rows} rows"
        message = f"`{views[-1]}` has {shape[0]} rows of {shape[-1]} features at {line}, for {batch} samples: {cut}."
        why = f"view(-1, {shape[-1]}) makes as many rows as it takes; a sample has {rows} times that many."
        fix = (
            f"Keep the batch where `{views[-1]}` is made: `.flatten(1)`, or `.view({batch}, -1)` with the size of "
            f"the batch, in place of the view with {shape[-1]}."
        )
        evidence, confidence = layer_evidence(layer, input=shape_text(shape), samples=batch, expected=wanted), 0.95
    else:
        return None
    return Blame(message, why, fix, layer.call, evidence, confidence)


# Normalization layers: the features they were built for, and the dimensions they take.
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
        digit, features = batch_norm[1], int(layer.settings["num_features"])
        if len(shape) not in _RANKS[digit]:
            single = explain_single_sample(crash, layer) if shape[:1] == (features,) else None
            if single is not None:
                return single
            fitting, built = _FITTING.get(len(shape)), calls_of(layer.place.code or "", layer.kind)
            edit, fix = None, f"Bring its input to {_SHAPES[digit]}{_earlier(crash, features)}."
            if fitting is not None and len(built) == 1 and shape[1] == features:
                changed = built[0].replace(layer.kind, fitting, 1)
                edit, fix = rewritten(layer.place, built[0], changed), f"Change `{built[0]}` to `{changed}`."
            return Blame(
                message=f"{layer_name(layer)} is a {layer.kind} and wants {_SHAPES[digit]}, but got "
                f"{shape_text(shape)}.",
                why=f"{layer.kind} normalizes over the batch and the dimensions after the channels.",
                fix=fix,
                where=target_place(layer),
                evidence=layer_evidence(layer, input=shape_text(shape), expected=_SHAPES[digit]),
                edit=edit,
            )
        return features_at_the_end(
            crash, layer, features, f"{layer.kind} normalizes what is in dimension 1"
        ) or _unequal(crash, Setting(layer, "num_features", 0, shape[1]), "channels")
    if layer.kind == "GroupNorm" and len(shape) > 1:
        return _unequal(crash, Setting(layer, "num_channels", 1, shape[1]), "channels")
    if layer.kind == "LayerNorm" and shape:
        wanted = ast.literal_eval(str(layer.settings["normalized_shape"]))
        if len(wanted) == 1:
            layer = replace(layer, settings=dict(layer.settings) | {"normalized_shape": wanted[0]})
            return (
                features_in_the_middle(crash, layer, wanted[0], "LayerNorm normalizes the last dimension")
                or _channels_first(layer, shape, wanted[0])
                or _unequal(crash, Setting(layer, "normalized_shape", 0, shape[-1]), "features")
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
        )
    return None


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


def _unequal(crash: CrashFact, setting: Setting, unit: str) -> Blame | None:
    if setting.got == setting.built_for:
        return None
    where = "dimension 1" if unit == "channels" else "the last dimension"
    why = f"{setting.layer.kind} keeps one weight for each of the {unit} in {where} of its input"
    return other_size(setting, unit, why, origin_text(crash, setting, " channels" if unit == "channels" else ""))


def _earlier(crash: CrashFact, features: int) -> str:
    """A layer before it whose output would have fitted: the norm comes too late, after a flatten."""
    for step in reversed(crash.flow):
        if step.made and len(step.made[0]) > 3 and step.made[0][1] == features:
            return f"; what `{step.path}` gives, {shape_text(step.made[0])}, would fit: move it there"
    return ""


# Convolutions: channels, the number of dimensions, and inputs smaller than the kernel.
_IMAGE_CHANNELS = 1, 3, 4


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
        # Without a batch dimension the first one is taken for the channels.
        wanted, one = wanted_form(spatial, channels), f"one sample of {shape[0]} channel{'s' * (shape[0] != 1)}"
        what, edit, why = one, None, "an input without one is taken for a single sample"
        fix = f"Bring its input to {wanted} before the call at {place_text(layer.call)}."
        if channels == 1 and shape[0] not in _IMAGE_CHANNELS:
            what = "a batch without a channel dimension"
            why = f"without one, the {shape[0]} samples are taken for {shape[0]} channels of one sample"
            change = change_input(crash, layer, "{}.unsqueeze(1)")
            fix, edit = f"Add the channel dimension: {change.text}.", change.edit
        message = f"{layer_name(layer)} got {shape_text(shape)}, {what}; it wants {wanted}."
        evidence = shape_evidence(layer, wanted)
        return Blame(message, f"{CONV_WHY}; {why}.", fix, layer.call, evidence, 0.95, edit)
    setting = Setting(layer, "in_channels", 0, shape[1])
    groups = int(layer.settings.get("groups", 1))
    maybe_last = shape[-1] == setting.built_for and straight_from_data(crash, layer)
    reason = f" and groups that divide {setting.got}" if groups > 1 else ""
    if maybe_last:
        order = ", ".join(map(str, [0, len(shape) - 1, *range(1, len(shape) - 1)]))
        reason += f"; or, if its channels are in the last dimension, give it `x.permute({order})`"
    else:
        reason += origin_text(crash, setting, " channels")
    unit = f"channel{'s' * (setting.got != 1)}"
    return other_size(setting, unit, CONV_WHY, reason, 0.97, plain=groups == 1 and not maybe_last)


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


def _too_small(layer: LayerFact, sizes: tuple[int, ...]) -> Blame | None:
    if layer.kind.startswith("ConvTranspose"):
        return None
    kernel, padding, dilation = (sizes_of(layer, name, len(sizes)) for name in ("kernel_size", "padding", "dilation"))
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


# F.conv1d, F.conv2d, F.conv3d with a kernel of the user's own.
def explain_kernel(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    if name not in ("conv1d", "conv2d", "conv3d") or len(operands) < 2 or not isinstance(node, ast.Call):
        return None
    given, kernel = line.tensor(operands[0]), line.tensor(operands[1])
    written = [number(word.value) for word in node.keywords if word.arg == "groups"]
    groups = written[0] if written else 1
    if given is None or kernel is None or groups is None or len(given.shape) != len(kernel.shape):
        return None
    wanted = kernel.shape[1] * groups
    if given.shape[1] == wanted:
        return None
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} got an input {shape_text(given.shape)} "
        f"with {given.shape[1]} channels and a kernel {shape_text(kernel.shape)} for {wanted}.",
        why="A kernel is [out, in / groups, sizes...]; `in` must be the channels in dimension 1 of the input.",
        fix=f"Make dimension 1 of `{kernel.name}` {given.shape[1]}; or, to filter each channel by itself, "
        f"repeat it {given.shape[1]} times in dimension 0 and pass groups={given.shape[1]}.",
        evidence=tensor_evidence(crash, given, kernel),
        confidence=0.95,
    )


# Pooling: inputs that are too small, or have too few dimensions; and nn.Unflatten.
def explain_pool(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    match = re.fullmatch(r"(?:Adaptive)?(?:Max|Avg)Pool([123])d", layer.kind) if layer else None
    if layer is None or match is None or not layer.inputs:
        return None
    spatial, shape = int(match[1]), layer.inputs[0].shape
    if len(shape) not in (spatial + 1, spatial + 2):
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
    if layer.kind.startswith("Adaptive"):
        return None
    sizes = shape[-spatial:]
    kernel, padding = (sizes_of(layer, name, len(sizes)) for name in ("kernel_size", "padding"))
    if not len(kernel) == len(padding) == len(sizes) or "too small" not in crash.message:
        return None
    if all(size + 2 * pad >= window for size, pad, window in zip(sizes, padding, kernel, strict=True)):
        return None
    pools = [step for step in crash.flow if "Pool" in step.kind and step.given and step.made]
    ends = [str(step.given[0][-1]) for step in pools[:1]] + [str(step.made[0][-1]) for step in pools]
    way = f": the poolings before it made the width {' -> '.join(ends)}" if pools else ""
    return Blame(
        message=f"{layer_name(layer)} got a {product_text(sizes)} input, which is smaller than its "
        f"{product_text(kernel)} window{way}.",
        why="Each pooling makes its input smaller, so an image can be pooled only a few times.",
        fix="Leave out one of the poolings, or give the model larger images.",
        where=target_place(layer),
        evidence=layer_evidence(layer, input=product_text(sizes), expected=product_text(kernel)),
    )


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
    )


# Convolutions that got too many or too few dimensions.
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
        return change_input(crash, layer, f"{{}}.view(-1, 1, {side}, {side})"), "Give the rows their form as images"
    return change_input(crash, layer, "{}[None, None]"), "Add the batch and channel dimensions"


def _flattened_before(crash: CrashFact, shape: tuple[int, ...]) -> str:
    entry = model_entry(crash)
    for tensor in entry.inputs if entry else ():
        whole = (tensor.shape[0], math.prod(tensor.shape[1:])) if len(tensor.shape) > 2 else ()
        if entry and shape == whole:
            return f", flattened from the {shape_text(tensor.shape)} that `{entry.module}` was called with"
    return ""


# Kernel sizes, strides and paddings as torch keeps them: one number, or one for each dimension.
def sizes_of(layer: LayerFact, name: str, dimensions: int) -> tuple[int, ...]:
    """One number for each dimension; empty where there are none ("same" as padding)."""
    try:
        value = ast.literal_eval(str(layer.settings.get(name)))
    except (ValueError, SyntaxError):
        return ()
    if isinstance(value, int):
        return (value,) * dimensions
    return value if isinstance(value, tuple) else ()


# Features that sit in another dimension than the layer looks at: sequences, before or after a turn.
_FEATURES_LAST = (
    "Embedding", "Linear", "LayerNorm", "LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoder",
    "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer",
)  # fmt: skip


def came_features_last(crash: CrashFact, shape: tuple[int, ...]) -> bool:
    """Whether a layer that keeps features in the last dimension gave this shape."""
    return any(step.kind in _FEATURES_LAST and shape in step.made for step in crash.flow)


def features_in_the_middle(crash: CrashFact, layer: LayerFact, wanted: int, why: str) -> Blame | None:
    """A layer that reads the last dimension of [batch, features, length], as convolutions give it."""
    shape = layer.inputs[0].shape
    if len(shape) != 3 or shape[1] != wanted or shape[2] == wanted or came_features_last(crash, shape):
        return None
    change = change_input(crash, layer, "{}.transpose(1, 2)")
    why = f"{why}; convolutions keep their channels in dimension 1."
    places = "in dimension 1; it wants them in the last"
    return _features_elsewhere(layer, wanted, places, why, f"Turn the two dimensions: {change.text}.", change, 0.93)


def features_at_the_end(crash: CrashFact, layer: LayerFact, wanted: int, why: str) -> Blame | None:
    """A layer that reads dimension 1, given [batch, length, features]: turned for it, and turned back."""
    shape = layer.inputs[0].shape
    convolved = any("Conv" in step.kind and shape in step.made for step in crash.flow)
    if len(shape) != 3 or shape[2] != wanted or shape[1] == wanted or convolved:
        return None
    change = change_input(crash, layer, "{}.transpose(1, 2)", after=".transpose(1, 2)")
    fix = f"Turn the two dimensions for it, and back after it: {change.text}."
    places = "in the last dimension; it wants them in dimension 1"
    return _features_elsewhere(layer, wanted, places, f"{why}.", fix, change, 0.95)


def _features_elsewhere(
    layer: LayerFact, wanted: int, places: str, why: str, fix: str, change: Change, confidence: float
) -> Blame:
    return Blame(
        message=f"{layer_name(layer)} got {shape_text(layer.inputs[0].shape)}, with the {wanted} features it was "
        f"built for {places}.",
        why=why,
        fix=fix,
        where=change.where,
        evidence=shape_evidence(layer, wanted),
        confidence=confidence,
        edit=change.edit,
    )


# A model called with one sample instead of a batch: what its layers then get.
_BATCHES_WHY = (
    "The model was written for batches; convolutions take a single sample too, but what comes after them then "
    "reads the channels as the batch"
)


def explain_single_sample(crash: CrashFact, layer: LayerFact) -> Blame | None:
    """For a layer that cannot use its input, after a convolution that got the model's input without a batch."""
    entry = model_entry(crash)
    given = entry.inputs[0].shape if entry and entry.inputs else ()
    if entry is None or not any(_unbatched(step.kind, step.given) and step.given[0] == given for step in crash.flow):
        return None
    change = entry.change("{}.unsqueeze(0)")
    return Blame(
        message=f"`{entry.module}` was called with one sample, {shape_text(given)}, without a batch dimension, "
        f"so {layer_name(layer)} got {shape_text(layer.inputs[0].shape)}.",
        why=f"{_BATCHES_WHY}.",
        fix=f"Make it a batch of one: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, f"[1, {', '.join(map(str, given))}] into {entry.module}"),
        confidence=0.95,
        edit=change.edit,
    )


def _unbatched(kind: str, given: tuple[tuple[int, ...], ...]) -> bool:
    match = re.fullmatch(r"Conv([123])d", kind)
    return match is not None and bool(given) and len(given[0]) == int(match[1]) + 1


# Where a number of features or channels comes from, as far as the shape flow and the call tell.
def origin_text(crash: CrashFact, setting: Setting, unit: str = "") -> str:
    """; 3456 = 6 x 24 x 24 comes out of `net.conv` (or nothing); for data as it came in, the other way out."""
    if straight_from_data(crash, setting.layer):
        return f", or give it {setting.built_for}{unit or ' features'}" if not setting.layer.ran_before else ""
    return _joined(crash, setting.layer, setting.got) or _made(crash, setting.got, unit)


def _made(crash: CrashFact, size: int, unit: str) -> str:
    made = crash.flow[-1].made if crash.flow else ()
    if not made or len(made[0]) < 2:
        return ""
    shape, source = made[0], f"comes out of `{crash.flow[-1].path}`"
    if not unit and len(shape) > 2 and math.prod(shape[1:]) == size:
        return f"; {size} = {product_text(shape[1:])} {source}"
    if size in (shape[1] if unit else shape[-1],):
        return f"; {size}{unit} {'come' if unit else 'comes'} out of `{crash.flow[-1].path}`"
    return ""


def _joined(crash: CrashFact, layer: LayerFact, size: int) -> str:
    """; 24 = 16 + 8, joined by `torch.cat([up, skip], dim=1)`"""
    for frame in reversed(crash.frames):
        if not frame.user or (frame.file, frame.line) != (layer.call.file, layer.call.line):
            continue
        line = Line(frame, crash.flow)
        for node in line.all_nodes():
            tensors, dimension = joined_tensors(line, node)
            sizes = [
                tensor.shape[dimension] for tensor in tensors if -len(tensor.shape) <= dimension < len(tensor.shape)
            ]
            if isinstance(node, ast.Call) and len(sizes) > 1 and sum(sizes) == size:
                return f"; {size} = {' + '.join(map(str, sizes))}, joined by `{line.source(node)}`"
    return ""
