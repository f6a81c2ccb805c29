"""Pasted tracebacks: layers that got other sizes than they were built for."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.crashes.explanation import Blame, product_text, shape_text
from torch_debugger.checks.crashes.pasted_tracebacks import Reading, from_text, read
from torch_debugger.checks.crashes.user_code import cast_to
from torch_debugger.records import CrashFact

_BUILDER = "the line that builds the layer, and where its input comes from"


@from_text(
    r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
    through=r"/torch/nn/modules/linear\.py$",
)
def explain_text_linear(reading: Reading) -> Blame | None:
    rows, got, built_for, out = (reading.number(group) for group in (1, 2, 3, 4))
    return reading.blame(
        f"a Linear layer called by {reading.at} got {got} features and was built for {built_for}.",
        "A Linear layer multiplies the last dimension of its input, so that one must equal in_features.",
        _linear_fix(rows, got, built_for, out),
        _BUILDER,
        got=got,
        expected=built_for,
    )


def _linear_fix(rows: int, got: int, built_for: int, out: int) -> str:
    fix = f"Build it as `nn.Linear({got}, {out})`, or give it {built_for} features."
    if got and built_for > got and built_for % got == 0:
        parts = f"{built_for} = {built_for // got} x {got}"
        return f"If its input was to be flattened, {parts}: `x.flatten(1)`. Else: {fix}"
    if rows == 1 and built_for and got > built_for and got % built_for == 0:
        parts = f"{got} = {got // built_for} x {built_for}"
        return f"If the batch was flattened too, {parts}: flatten from dimension 1 on, `x.flatten(1)`. Else: {fix}"
    return fix


@from_text(
    r"Given (groups|transposed)=\d+, weight of size \[([\d, ]+)\], expected input\[([\d, ]+)\] "
    r"to have (\d+) channels, but got (\d+) channels instead",
    through=r"/torch/nn/modules/conv\.py$",
)
def explain_text_conv(reading: Reading) -> Blame | None:
    weight, given, wanted, got = reading.sizes(2), reading.sizes(3), reading.number(4), reading.number(5)
    kind = f"Conv{'Transpose' if reading.match[1] == 'transposed' else ''}{len(weight) - 2}d"
    made = weight[1] if reading.match[1] == "transposed" else weight[0]
    fix = f"Build it as `nn.{kind}({got}, {made}, ...)`, or give it {wanted} channels."
    return reading.blame(
        f"a {kind} layer called by {reading.at} was built for {wanted} input channels and got {got}: "
        f"its input has shape {shape_text(given)}.",
        "Dimension 1 of the input is the channels; it must equal in_channels.",
        _other_order(given, wanted) + fix,
        _BUILDER,
        input=shape_text(given),
        got=got,
        expected=wanted,
    )


def _other_order(given: tuple[int, ...], wanted: int) -> str:
    """Images whose channels stand last, or that have none: said first, where the shape looks like it."""
    if len(given) != 4 or wanted not in (1, 3, 4):
        return ""
    if given[3] == wanted and given[2] != wanted:
        return "If the channels stand last, put them second: `x.permute(0, 3, 1, 2)`. Else: "
    if wanted == given[0] == 1:
        return f"If the {given[1]} are a batch of images without channels: `x.unsqueeze(1)`. Else: "
    return ""


@from_text(
    r"Expected \d+D \(unbatched\) or (\d+)D \(batched\) input to (\w+), "
    r"but got input of size: \[([\d, ]*)\]",
    through=r"/torch/nn/modules/conv\.py$",
)
def explain_text_conv_rank(reading: Reading) -> Blame | None:
    given, rank = reading.sizes(3), reading.number(1)
    return reading.blame(
        f"`{reading.match[2]}`, called by {reading.at}, takes {rank} dimensions and got {len(given)}: "
        f"{shape_text(given)}.",
        "A convolution reads its input as [batch, channels, sizes ...].",
        f"Give it {rank} dimensions: `x.unsqueeze(1)` adds a channel, `x.unsqueeze(0)` a batch of one."
        if len(given) < rank
        else f"Give it {rank} dimensions: `x.flatten(0, 1)` draws the first two together.",
        "which dimension is missing or too much",
        input=shape_text(given),
    )


@from_text(
    r"running_mean should contain (\d+) elements not (\d+)", through=r"/torch/nn/modules/(batchnorm|instancenorm)\.py$"
)
def explain_text_batch_norm(reading: Reading) -> Blame | None:
    return _features(reading, "BatchNorm", reading.number(1), reading.number(2), "num_features")


@from_text(
    r"Given normalized_shape=\[([\d, ]+)\], expected input with shape \[\*, [\d, ]+\], "
    r"but got input of size ?\[([\d, ]+)\]",
    through=r"/torch/nn/modules/normalization\.py$",
)
def explain_text_layer_norm(reading: Reading) -> Blame | None:
    built, given = reading.sizes(1), reading.sizes(2)
    return reading.blame(
        f"a LayerNorm called by {reading.at} was built for {shape_text(built)} and got an input of shape "
        f"{shape_text(given)}.",
        "The last dimensions of the input must equal normalized_shape.",
        f"Build it as `nn.LayerNorm({list(given[-len(built) :])})`, or give it what it was built for.",
        _BUILDER,
        input=shape_text(given),
    )


@from_text(
    r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)", through=r"/torch/nn/modules/rnn\.py$"
)
def explain_text_sequence(reading: Reading) -> Blame | None:
    return _features(reading, "recurrent", reading.number(2), reading.number(1), "input_size")


def _features(reading: Reading, kind: str, got: int, built_for: int, name: str) -> Blame:
    return reading.blame(
        f"a {kind} layer called by {reading.at} got {got} features and was built for {built_for}.",
        f"The features of the input must equal {name}.",
        f"Build it with {name} = {got}, or give it {built_for} features.",
        _BUILDER,
        got=got,
        expected=built_for,
    )


LAYER_TEXTS = (
    explain_text_linear,
    explain_text_conv,
    explain_text_conv_rank,
    explain_text_batch_norm,
    explain_text_layer_norm,
    explain_text_sequence,
)


# Pasted tracebacks: operators and functions whose tensors do not fit each other.
_SHAPES = "the shapes of the tensors, and where they were made"


@from_text(
    r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
    line=r"@|\b(?:mat)?mul\(|\bmm\(|\baddmm\(|\blinear\(|\bdot\(|\beinsum\(",
)
def explain_text_product(reading: Reading) -> Blame | None:
    first, second = (reading.number(1), reading.number(2)), (reading.number(3), reading.number(4))
    fix = f"Make the {first[1]} columns of the first equal the {second[0]} rows of the second."
    if first[1] == second[1]:
        fix = f"Transpose the second, `.T`: then it has {first[1]} rows. Or make the sizes equal."
    return reading.blame(
        f"{reading.at} multiplies {shape_text(first)} by {shape_text(second)}.",
        "The columns of the first matrix must be as many as the rows of the second.",
        fix,
        "which of the two was meant otherwise",
        first=shape_text(first),
        second=shape_text(second),
    )


@from_text(
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) "
    r"at non-singleton dimension (\d+)",
    through=r"/torch/nn/functional\.py$",
    line=r"[-+*/%<>&|^]|==|!=|\b(?:add|sub|mul|div|where|lerp|addcmul|maximum|minimum|eq|masked_fill)_?\(",
)
def explain_text_elementwise(reading: Reading) -> Blame | None:
    first, second, dimension = reading.number(1), reading.number(2), reading.number(3)
    return reading.blame(
        f"{reading.at} combines two tensors that have {first} and {second} entries in dimension {dimension}.",
        "Combined entry by entry, two sizes must be equal, or one of them 1.",
        f"Print both shapes before the line, and make dimension {dimension} agree.",
        _SHAPES,
        first=first,
        second=second,
        dimension=dimension,
    )


def explain_text_view(crash: CrashFact) -> Blame | None:
    reading = read(
        crash, r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", line=r"\b(?:view|reshape|unflatten)\("
    )
    if reading is None:
        return None
    asked, entries = reading.sizes(1), reading.number(2)
    known = math.prod(size for size in asked if size != -1)
    wants = f"a multiple of {known:,}" if -1 in asked else f"{product_text(asked)} = {known:,}"
    first = asked[0]
    fix = "Take the sizes from the tensor itself: `x.flatten(1)` keeps the batch, whatever follows."
    if len(asked) == 2 and first > 0 and entries % first == 0:
        fix = f"With {first} rows there are {entries // first:,} entries a row: `({first}, {entries // first})`."
    return reading.blame(
        f"{reading.at} asks for the shape {shape_text(asked)}, which needs {wants} entries; the tensor has "
        f"{entries:,}.",
        "A view keeps every entry, so that the sizes must multiply to the same number.",
        fix,
        "the shape the tensor had before",
        asked=shape_text(asked),
        entries=entries,
    )


@from_text(
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) "
    r"for tensor number (\d+) in the list",
    line=r"\b(?:cat|concat|concatenate|hstack|vstack|dstack|column_stack)\(",
)
def explain_text_join(reading: Reading) -> Blame | None:
    joined, wanted, got, number = (reading.number(group) for group in (1, 2, 3, 4))
    return reading.blame(
        f"{reading.at} joins tensors along dimension {joined}; tensor {number} of its list has size {got} in "
        f"another dimension, where the first has {wanted}.",
        "Joined tensors must have equal sizes in all other dimensions.",
        f"Make entry {number} of the list fit, or join along the dimension in which they differ.",
        _SHAPES,
        dimension=joined,
        expected=wanted,
        got=got,
    )


@from_text(
    r"stack expects each tensor to be equal size, but got \[([\d, ]*)\] at entry 0 "
    r"and \[([\d, ]*)\] at entry (\d+)",
    line=r"\bstack\(",
    through=r"/torch/utils/data/_utils/collate\.py$",
)
def explain_text_stack(reading: Reading) -> Blame | None:
    first, other, entry = reading.sizes(1), reading.sizes(2), reading.number(3)
    loader = any(frame.file.endswith("/collate.py") for frame in reading.crash.frames)
    what = "the DataLoader makes a batch of samples" if loader else f"{reading.at} stacks tensors"
    return reading.blame(
        f"{what} of unequal shapes: {shape_text(first)} at entry 0 and {shape_text(other)} at entry {entry}.",
        "Stacked tensors must all have one shape.",
        "Bring every sample to one shape in the dataset (crop, resize, pad), or give the DataLoader a "
        "`collate_fn` that pads."
        if loader
        else "Pad or crop them to one shape before they are stacked.",
        "which samples they are" if loader else "the lines that made them",
        first=shape_text(first),
        other=shape_text(other),
    )


OPERATION_TEXTS = (
    explain_text_product,
    explain_text_elementwise,
    explain_text_view,
    explain_text_join,
    explain_text_stack,
)


# Pasted tracebacks: a loss whose input and target do not fit each other.
_LOSS = r"/torch/nn/functional\.py$"


@from_text(r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)", through=_LOSS)
def explain_text_batches(reading: Reading) -> Blame | None:
    rows, targets = reading.number(1), reading.number(2)
    ratio = max(rows, targets) / max(min(rows, targets), 1)
    times = f", {ratio:.0f} times as many" if ratio == int(ratio) and ratio > 1 else ""
    return reading.blame(
        f"the loss called by {reading.at} got {rows} rows of predictions and {targets} targets.",
        f"Each row needs one target. {max(rows, targets)} is not {min(rows, targets)}{times}: a view or a "
        "flatten before the loss may have moved entries into the batch dimension.",
        "Keep the batch dimension: `x.flatten(1)`, not `x.view(-1, n)`; and flatten the target like the input.",
        "the shapes on the way to the loss",
        rows=rows,
        targets=targets,
    )


@from_text(
    r"arget size \(torch\.Size\(\[([\d, ]*)\]\)\) (?:that is different to|must be the same as) "
    r"(?:the )?input size \(torch\.Size\(\[([\d, ]*)\]\)\)",
    through=_LOSS,
)
def explain_text_target_size(reading: Reading) -> Blame | None:
    target, given = reading.sizes(1), reading.sizes(2)
    fix = "Bring both to one shape."
    if given == (*target, 1):
        fix = "Drop the last dimension of the prediction, `.squeeze(-1)`, or add one to the target."
    elif target == (*given, 1):
        fix = "Drop the last dimension of the target: `.squeeze(-1)`."
    return reading.blame(
        f"the loss called by {reading.at} compares a prediction of shape {shape_text(given)} with a target of "
        f"shape {shape_text(target)}.",
        "This loss compares entry by entry, so both must have one shape.",
        fix,
        "where the two were made",
        prediction=shape_text(given),
        target=shape_text(target),
    )


LOSS_TEXTS = explain_text_batches, explain_text_target_size


# Pasted tracebacks: dtypes that do not fit each other.
_NAMES = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
    "complexfloat": "complex64", "complexdouble": "complex128",
}  # fmt: skip
_MAKER = "the line that made the tensor"


def explain_text_layer_dtypes(crash: CrashFact) -> Blame | None:
    reading = read(
        crash,
        r"mat1 and mat2 must have the same dtype, but got (\w+) and (\w+)",
        through=r"/torch/nn/modules/linear\.py$",
    ) or read(
        crash,
        r"Input type \((?:torch\.)?(?:cuda\.)?(\w+?)(?:Tensor)?\) and (?:weight|bias) type "
        r"\((?:torch\.)?(?:cuda\.)?(\w+?)(?:Tensor)?\) should be the same",
        through=r"/torch/nn/modules/conv\.py$",
    )
    given, weights = (dtype_name(reading.match[1]), dtype_name(reading.match[2])) if reading else ("", "")
    if reading is None or not given or not weights or given == weights:
        return None
    from_numpy = " numpy arrays are float64 unless told otherwise." if given == "float64" else ""
    return reading.blame(
        f"a layer called by {reading.at} got a {given} input, and its weights are {weights}.",
        "A layer computes in one dtype." + from_numpy,
        f"Convert the input where it comes in: `{cast_to(weights)}`.",
        _MAKER,
        input=given,
        weights=weights,
    )


@from_text(
    r"expected scalar type (Long|Float|Double) but found (\w+)", through=r"/torch/nn/(?:functional|modules/loss)\.py$"
)
def explain_text_targets(reading: Reading) -> Blame | None:
    """Class numbers that are no integers, or the other way round."""
    wanted, found = dtype_name(reading.match[1]), dtype_name(reading.match[2])
    if not found or wanted == found:
        return None
    return reading.blame(
        f"a loss or layer called by {reading.at} takes {wanted} and got {found}.",
        "Class numbers are integers (int64); predictions and regression targets are floating point.",
        f"Convert the odd one: `{cast_to(wanted)}`.",
        "which of the tensors it is, and " + _MAKER,
        expected=wanted,
        got=found,
    )


@from_text(
    r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
    r"but got torch\.(?:cuda\.)?(\w+)Tensor instead",
    through=r"/torch/nn/modules/sparse\.py$|/torch/nn/functional\.py$",
)
def explain_text_indices(reading: Reading) -> Blame | None:
    return reading.blame(
        f"an embedding called by {reading.at} got {dtype_name(reading.match[1])} instead of indices.",
        "An embedding looks rows up by number: it takes integers.",
        "Give it the numbers of the rows, `.long()`, and not the vectors themselves.",
        _MAKER,
        got=dtype_name(reading.match[1]),
    )


def dtype_name(word: str) -> str:
    """float64 for Double, double, DoubleTensor and c10::Double."""
    plain = re.sub(r"^(?:c10::)|Tensor$", "", word).lower()
    return _NAMES.get(plain, plain if plain in _NAMES.values() else "")


DTYPE_TEXTS = explain_text_layer_dtypes, explain_text_targets, explain_text_indices
