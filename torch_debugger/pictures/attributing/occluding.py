"""Occlusion (arXiv:1311.2901): what the score loses when a window of the input is covered."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torch_debugger.errors import UsageError
from torch_debugger.pictures.aims import Target
from torch_debugger.pictures.attributing.baselines import baseline_for
from torch_debugger.pictures.attributing.picture import Attribution, Showing, refuse_unknown
from torch_debugger.pictures.attributing.points import Explained, explained, repeated
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.runs_of_models import Inputs

if TYPE_CHECKING:
    from typing_extensions import Unpack

Sizes = int | Sequence[int] | None
Window = tuple[slice, ...]


def occlusion(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    window: Sizes = None,
    stride: Sizes = None,
    baseline: Any = None,
    layer: str | nn.Module | None = None,
    batch_size: int = 32,
    **showing: Unpack[Showing],
) -> Attribution:
    """How much of the score is lost where a window slides over the input; needs no gradients.

        occlusion(model, images, window=16, stride=8).save("occlusion.png")
        occlusion(model, tokens, tokens=words)             # token by token

    `window` is one size for all places (over all channels), a size for each axis of places, or for every axis
    of one example; an eighth of an image where none is given, one token, one number of a table. `stride` is
    half of it. `baseline` is what covers, zero where none is given. A place under several windows gets their
    mean. The rest is as in `saliency`.
    """
    refuse_unknown("occlusion", showing)
    with for_gradients(model) as inner, torch.no_grad():
        asked = explained(inner, inputs, layer)
        windows = _windows(asked, window, stride)
        aims, scores = asked.aims(target)
        cover = baseline_for(asked, baseline)
        found = torch.zeros(len(aims), *asked.value.shape[1:], device=asked.value.device)
        times = torch.zeros(asked.value.shape[1:], device=asked.value.device)
        for each in windows:
            times[each] += 1
        for start in range(0, len(windows), batch_size):
            some = windows[start : start + batch_size]
            for number, aim in enumerate(aims):
                covered = asked.value[aim.example].repeat(len(some), *[1] * (asked.value.dim() - 1))
                for place, each in enumerate(some):
                    covered[place][each] = cover[aim.example][each]
                lost = scores[number] - asked.scores(covered, repeated([aim], len(some)), batch_size)
                for loss, each in zip(lost, some, strict=True):
                    found[number][each] += loss
    shared_by = asked.value.shape[-1] if asked.embedding is not None else 1  # numbers of one token
    return Attribution("Occlusion", found / times.clamp(min=1) / shared_by, asked, aims, scores, **showing)


def _windows(asked: Explained, window: Sizes, stride: Sizes) -> list[Window]:
    """Those of the last rows and columns are cut at the edge."""
    shape = list(asked.value.shape[1:])
    sizes = _sizes(asked, shape, _default(asked, shape) if window is None else window, "window")
    halves = [
        max(1, size // 2) if size < all_of_it else size for size, all_of_it in zip(sizes, shape, strict=True)
    ]
    strides = halves if stride is None else _sizes(asked, shape, stride, "stride")
    starts = []
    for extent, size, step in zip(shape, sizes, strides, strict=True):
        if not 1 <= size <= extent or step < 1 or (step > size and size < extent):
            raise UsageError(
                f"a window of {sizes} with a stride of {strides} does not cover an example of {shape}: windows"
                " may not be larger than it, nor strides larger than windows."
            )
        starts.append([number * step for number in range(-(-(extent - size) // step) + 1)])
    return [
        tuple(slice(first, first + size) for first, size in zip(corner, sizes, strict=True))
        for corner in itertools.product(*starts)
    ]


def _places(asked: Explained, shape: list[int]) -> list[int]:
    """The axes over which windows slide: the last two of an image, the longer of a series, that of tokens."""
    if asked.embedding is not None or len(shape) == 1:
        return [0]
    return [shape.index(max(shape))] if len(shape) == 2 else list(range(1, len(shape)))


def _default(asked: Explained, shape: list[int]) -> list[int]:
    if asked.embedding is not None or len(shape) == 1:
        return [1]
    return [max(1, shape[axis] // 8) for axis in _places(asked, shape)]


def _sizes(asked: Explained, shape: list[int], given: int | Sequence[int], what: str) -> list[int]:
    places = _places(asked, shape)
    several = [given] * len(places) if isinstance(given, int) else list(given)
    if len(several) == len(shape):
        return several
    if len(several) != len(places):
        raise UsageError(f"{what} has {len(several)} sizes, but an example is {shape}: give {len(places)}.")
    sizes = list(shape)
    for axis, size in zip(places, several, strict=True):
        sizes[axis] = size
    return sizes
