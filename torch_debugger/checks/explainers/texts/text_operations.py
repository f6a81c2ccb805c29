"""Pasted tracebacks: operators and functions whose tensors do not fit each other."""

from __future__ import annotations

import math

from torch_debugger.checks.explainers.blame import Blame, product_text, shape_text
from torch_debugger.checks.explainers.texts.text_reading import read
from torch_debugger.records import CrashFact

_SHAPES = "the shapes of the tensors, and where they were made"


def explain_text_product(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        line=r"@|\b(?:mat)?mul\(|\bmm\(|\baddmm\(|\blinear\(|\bdot\(|\beinsum\(",
    )
    if told is None:
        return None
    first, second = (told.number(1), told.number(2)), (told.number(3), told.number(4))
    fix = f"Make the {first[1]} columns of the first equal the {second[0]} rows of the second."
    if first[1] == second[1]:
        fix = f"Transpose the second, `.T`: then it has {first[1]} rows. Or make the sizes equal."
    return told.blame(
        f"{told.at} multiplies {shape_text(first)} by {shape_text(second)}.",
        "The columns of the first matrix must be as many as the rows of the second.",
        fix,
        "which of the two was meant otherwise",
        first=shape_text(first),
        second=shape_text(second),
    )


def explain_text_elementwise(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) "
        r"at non-singleton dimension (\d+)",
        through=r"/torch/nn/functional\.py$",
        line=r"[-+*/%<>&|^]|==|!=|\b(?:add|sub|mul|div|where|lerp|addcmul|maximum|minimum|eq|masked_fill)_?\(",
    )
    if told is None:
        return None
    first, second, dimension = told.number(1), told.number(2), told.number(3)
    return told.blame(
        f"{told.at} combines two tensors that have {first} and {second} entries in dimension {dimension}.",
        "Combined entry by entry, two sizes must be equal, or one of them 1.",
        f"Print both shapes before the line, and make dimension {dimension} agree.",
        _SHAPES,
        first=first,
        second=second,
        dimension=dimension,
    )


def explain_text_view(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)",
        line=r"\b(?:view|reshape|unflatten)\(",
    )
    if told is None:
        return None
    asked, entries = told.sizes(1), told.number(2)
    known = math.prod(size for size in asked if size != -1)
    wants = f"a multiple of {known:,}" if -1 in asked else f"{product_text(asked)} = {known:,}"
    first = asked[0]
    fix = "Take the sizes from the tensor itself: `x.flatten(1)` keeps the batch, whatever follows."
    if len(asked) == 2 and first > 0 and entries % first == 0:
        fix = (
            f"With {first} rows there are {entries // first:,} entries a row: `({first}, {entries // first})`."
        )
    return told.blame(
        f"{told.at} asks for the shape {shape_text(asked)}, which needs {wants} entries; "
        f"the tensor has {entries:,}.",
        "A view keeps every entry, so that the sizes must multiply to the same number.",
        fix,
        "the shape the tensor had before",
        asked=shape_text(asked),
        entries=entries,
    )


def explain_text_join(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) "
        r"for tensor number (\d+) in the list",
        line=r"\b(?:cat|concat|concatenate|hstack|vstack|dstack|column_stack)\(",
    )
    if told is None:
        return None
    joined, wanted, got, number = (told.number(group) for group in (1, 2, 3, 4))
    return told.blame(
        f"{told.at} joins tensors along dimension {joined}; tensor {number} of its list has size {got} in "
        f"another dimension, where the first has {wanted}.",
        "Joined tensors must have equal sizes in all other dimensions.",
        f"Make entry {number} of the list fit, or join along the dimension in which they differ.",
        _SHAPES,
        dimension=joined,
        expected=wanted,
        got=got,
    )


def explain_text_stack(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"stack expects each tensor to be equal size, but got \[([\d, ]*)\] at entry 0 "
        r"and \[([\d, ]*)\] at entry (\d+)",
        line=r"\bstack\(",
        through=r"/torch/utils/data/_utils/collate\.py$",
    )
    if told is None:
        return None
    first, other, entry = told.sizes(1), told.sizes(2), told.number(3)
    loader = any(frame.file.endswith("/collate.py") for frame in crash.frames)
    what = "the DataLoader makes a batch of samples" if loader else f"{told.at} stacks tensors"
    return told.blame(
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
