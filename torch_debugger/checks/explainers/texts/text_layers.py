"""Pasted tracebacks: layers that got other sizes than they were built for."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, shape_text
from torch_debugger.checks.explainers.texts.text_reading import Reading, read
from torch_debugger.records import CrashFact

_BUILDER = "the line that builds the layer, and where its input comes from"


def explain_text_linear(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        through=r"/torch/nn/modules/linear\.py$",
    )
    if told is None:
        return None
    rows, got, built_for, out = (told.number(group) for group in (1, 2, 3, 4))
    return told.blame(
        f"a Linear layer called by {told.at} got {got} features and was built for {built_for}.",
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
        return (
            f"If the batch was flattened too, {parts}: flatten from dimension 1 on, `x.flatten(1)`. Else: {fix}"
        )
    return fix


def explain_text_conv(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"Given (groups|transposed)=\d+, weight of size \[([\d, ]+)\], expected input\[([\d, ]+)\] "
        r"to have (\d+) channels, but got (\d+) channels instead",
        through=r"/torch/nn/modules/conv\.py$",
    )
    if told is None:
        return None
    weight, given, wanted, got = told.sizes(2), told.sizes(3), told.number(4), told.number(5)
    kind = f"Conv{'Transpose' if told.match[1] == 'transposed' else ''}{len(weight) - 2}d"
    made = weight[1] if told.match[1] == "transposed" else weight[0]
    fix = f"Build it as `nn.{kind}({got}, {made}, ...)`, or give it {wanted} channels."
    return told.blame(
        f"a {kind} layer called by {told.at} was built for {wanted} input channels and got {got}: "
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


def explain_text_conv_rank(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"Expected \d+D \(unbatched\) or (\d+)D \(batched\) input to (\w+), "
        r"but got input of size: \[([\d, ]*)\]",
        through=r"/torch/nn/modules/conv\.py$",
    )
    if told is None:
        return None
    given, rank = told.sizes(3), told.number(1)
    return told.blame(
        f"`{told.match[2]}`, called by {told.at}, takes {rank} dimensions and got {len(given)}: "
        f"{shape_text(given)}.",
        "A convolution reads its input as [batch, channels, sizes ...].",
        f"Give it {rank} dimensions: `x.unsqueeze(1)` adds a channel, `x.unsqueeze(0)` a batch of one."
        if len(given) < rank
        else f"Give it {rank} dimensions: `x.flatten(0, 1)` draws the first two together.",
        "which dimension is missing or too much",
        input=shape_text(given),
    )


def explain_text_norm(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"running_mean should contain (\d+) elements not (\d+)",
        through=r"/torch/nn/modules/(batchnorm|instancenorm)\.py$",
    )
    if told is not None:
        return _features(told, "BatchNorm", told.number(1), told.number(2), "num_features")
    told = read(
        crash,
        r"Given normalized_shape=\[([\d, ]+)\], expected input with shape \[\*, [\d, ]+\], "
        r"but got input of size ?\[([\d, ]+)\]",
        through=r"/torch/nn/modules/normalization\.py$",
    )
    if told is None:
        return None
    built, given = told.sizes(1), told.sizes(2)
    return told.blame(
        f"a LayerNorm called by {told.at} was built for {shape_text(built)} and got an input of shape "
        f"{shape_text(given)}.",
        "The last dimensions of the input must equal normalized_shape.",
        f"Build it as `nn.LayerNorm({list(given[-len(built) :])})`, or give it what it was built for.",
        _BUILDER,
        input=shape_text(given),
    )


def explain_text_sequence(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
        through=r"/torch/nn/modules/rnn\.py$",
    )
    return _features(told, "recurrent", told.number(2), told.number(1), "input_size") if told else None


def _features(told: Reading, kind: str, got: int, built_for: int, name: str) -> Blame:
    return told.blame(
        f"a {kind} layer called by {told.at} got {got} features and was built for {built_for}.",
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
    explain_text_norm,
    explain_text_sequence,
)
