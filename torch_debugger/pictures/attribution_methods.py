"""What each part of an input contributes to a score: slopes, paths, noise and windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from torch_debugger.pictures.attribution_inputs import Explained, baseline_for, explained, repeated
from torch_debugger.pictures.attribution_plots import Attribution, Showing, refuse_unknown
from torch_debugger.pictures.model_runs import Inputs
from torch_debugger.pictures.target_gradients import Target, aims_for, for_gradients, input_gradients
from torch_debugger.system.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Unpack


# What the score's gradient says about each number of the input.
def saliency(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    layer: str | nn.Module | None = None,
    absolute: bool = True,
    **showing: Unpack[Showing],
) -> Attribution:
    """How much the score changes with each number of the input: the gradient, without its sign.

        saliency(model, images).save("saliency.png")         # for the top class of each image
        saliency(model, tokens, target=2, tokens=words).attributions    # [examples, tokens]

    Tokens are attributed through their embedding, which is found (or named: layer="embedding"). Of several
    inputs the first is explained; a dictionary of keywords may begin with any of them. `target` is as in
    class_activation. For the drawing: `labels` of classes, `tokens`, `features`, `mean` and `std` of images.
    """
    refuse_unknown("saliency", showing)
    return _by_gradient("Saliency", model, inputs, target, layer, showing, absolute=absolute, times_input=False)


def input_x_gradient(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    layer: str | nn.Module | None = None,
    **showing: Unpack[Showing],
) -> Attribution:
    """The gradient times the input: what each number contributes to the score, as far as it is linear.

        input_x_gradient(model, rows, target=1, features=["age", "height"]).attributions

    The rest is as in `saliency`.
    """
    refuse_unknown("input_x_gradient", showing)
    return _by_gradient("Input x gradient", model, inputs, target, layer, showing, absolute=False, times_input=True)


def _by_gradient(
    title: str,
    model: nn.Module,
    inputs: Inputs,
    target: Target,
    layer: str | nn.Module | None,
    showing: Showing,
    *,
    absolute: bool,
    times_input: bool,
) -> Attribution:
    with for_gradients(model) as inner:
        explained_input = explained(inner, inputs, layer)
        leaf = explained_input.value.detach().clone().requires_grad_()
        rows = explained_input.answers(leaf, range(len(leaf)))
        aims = aims_for(target, rows)
        scores = torch.stack([aim.score(rows[aim.example]).detach() for aim in aims])
        (gradients,) = input_gradients(leaf, rows, aims)
    found = torch.stack(gradients).float()
    if times_input:
        found = found * explained_input.value[[aim.example for aim in aims]].float()
    return Attribution(title, found.abs() if absolute else found, explained_input, aims, scores, **showing)


# Integrated gradients (arXiv:1703.01365): gradients along the way from a baseline to the input.
METHODS = ("gausslegendre", "riemann_left", "riemann_right", "riemann_middle", "riemann_trapezoid")
_WIDE_GAP = 0.05  # of the score's change


def integrated_gradients(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    baseline: Any = None,
    steps: int = 50,
    method: str = "gausslegendre",
    layer: str | nn.Module | None = None,
    batch_size: int = 32,
    **showing: Unpack[Showing],
) -> Attribution:
    """What each number of the input contributes to the score's change from a baseline.

        found = integrated_gradients(model, images, target=3)
        found.attributions     # sum up to score - score of the baseline, but for
        found.gap              # this much for each: more steps make it smaller
        integrated_gradients(model, tokens, baseline=pad_id, tokens=words)

    `baseline` is a number, a tensor like the input, or for tokens also the id (or ids) of neutral ones; zero
    where none is given. `method`: gausslegendre, riemann_left, riemann_right, riemann_middle,
    riemann_trapezoid. The rest is as in `saliency`.
    """
    refuse_unknown("integrated_gradients", showing)
    places, widths = _steps(method, steps)
    with for_gradients(model) as inner:
        explained_input = explained(inner, inputs, layer)
        aims, scores = explained_input.aims(target)
        examples = [aim.example for aim in aims]
        value = explained_input.value[examples]
        start = baseline_for(explained_input, baseline)[examples]
        total = torch.zeros_like(value, dtype=torch.float32)
        for number, aim in enumerate(aims):  # one at a time: the points of all at once need not fit in memory
            way = torch.tensor(places, dtype=value.dtype, device=value.device)
            way = way.view(-1, *[1] * (value.dim() - 1))
            points = start[number] + way * (value[number] - start[number])
            gradients = explained_input.gradients(points, repeated([aim], steps), batch_size)
            total[number] = torch.einsum("s...,s->...", gradients, torch.tensor(widths, device=value.device))
        found = total * (value - start).float()
        change = scores - explained_input.scores(start, aims, batch_size)
    gap = found.flatten(1).sum(1) - change
    picture = Attribution("Integrated gradients", found, explained_input, aims, scores, **showing)
    picture.gap = gap.cpu().numpy()
    share = (gap.abs() / change.abs().clamp(min=1e-6)).max().item()
    hint = f": take more than {steps} steps" if share > _WIDE_GAP else ""
    missed = "less than 0.01 %" if share < 1e-4 else f"at most {100 * share:.2g} %"
    picture.note = picture.note or f"Their sum misses the score's change from the baseline by {missed}{hint}."
    return picture


def _steps(method: str, steps: int) -> tuple[list[float], list[float]]:
    """Where on the way gradients are taken, and how much each of them counts."""
    if method not in METHODS:
        raise UsageError(f"no method {method!r} to integrate by. There is {', '.join(METHODS)}.")
    if steps < 2:
        raise UsageError(f"expected steps of at least 2, but got {steps}.")
    if method == "gausslegendre":
        places, widths = np.polynomial.legendre.leggauss(steps)
        return (0.5 * (1 + places)).tolist(), (0.5 * widths).tolist()
    first, last = {
        "riemann_left": (0.0, 1 - 1 / steps),
        "riemann_right": (1 / steps, 1.0),
        "riemann_middle": (0.5 / steps, 1 - 0.5 / steps),
        "riemann_trapezoid": (0.0, 1.0),
    }[method]
    equal = np.full(steps, 1 / steps)
    if method == "riemann_trapezoid":
        equal[[0, -1]] /= 2
    return np.linspace(first, last, steps).tolist(), equal.tolist()


# SmoothGrad (arXiv:1706.03825): the gradient averaged over noisy copies of the input.
_SHARE_OF_RANGE = 0.15  # as in the paper


def smoothgrad(
    model: nn.Module,
    inputs: Inputs,
    *,
    target: Target = None,
    samples: int = 25,
    stdev: float | None = None,
    absolute: bool = True,
    seed: int = 0,
    layer: str | nn.Module | None = None,
    batch_size: int = 32,
    **showing: Unpack[Showing],
) -> Attribution:
    """Saliency with less noise in it: averaged over noisy copies of the input.

        smoothgrad(model, images, samples=50).save("smoothgrad.png")

    The noise has `stdev`, or 15 % of each input's own range, and comes from a generator of its own: the same
    seed gives the same picture, and your random numbers stay where they are. `absolute` averages gradients
    without their signs. The rest is as in `saliency`.
    """
    refuse_unknown("smoothgrad", showing)
    if samples < 1:
        raise UsageError(f"expected at least one sample, but got {samples}.")
    generator = torch.Generator().manual_seed(seed)
    with for_gradients(model) as inner:
        explained_input = explained(inner, inputs, layer)
        aims, scores = explained_input.aims(target)
        found = []
        for aim in aims:
            value = explained_input.value[aim.example]
            drawn = torch.randn(samples, *value.shape, generator=generator).to(value.device)
            wide = stdev if stdev is not None else _SHARE_OF_RANGE * (value.max() - value.min()).float()
            points = value + (drawn * wide).to(value.dtype)
            gradients = explained_input.gradients(points, repeated([aim], samples), batch_size)
            found.append((gradients.abs() if absolute else gradients).mean(0))
    return Attribution(f"SmoothGrad of {samples} samples", torch.stack(found), explained_input, aims, scores, **showing)


# Occlusion (arXiv:1311.2901): what the score loses when a window of the input is covered.
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
        explained_input = explained(inner, inputs, layer)
        windows = _windows(explained_input, window, stride)
        aims, scores = explained_input.aims(target)
        cover = baseline_for(explained_input, baseline)
        found = torch.zeros(len(aims), *explained_input.value.shape[1:], device=explained_input.value.device)
        times = torch.zeros(explained_input.value.shape[1:], device=explained_input.value.device)
        for each in windows:
            times[each] += 1
        for start in range(0, len(windows), batch_size):
            some = windows[start : start + batch_size]
            for number, aim in enumerate(aims):
                covered = explained_input.value[aim.example].repeat(len(some), *[1] * (explained_input.value.dim() - 1))
                for place, each in enumerate(some):
                    covered[place][each] = cover[aim.example][each]
                lost = scores[number] - explained_input.scores(covered, repeated([aim], len(some)), batch_size)
                for loss, each in zip(lost, some, strict=True):
                    found[number][each] += loss
    shared_by = explained_input.value.shape[-1] if explained_input.embedding is not None else 1  # numbers of one token
    return Attribution("Occlusion", found / times.clamp(min=1) / shared_by, explained_input, aims, scores, **showing)


def _windows(explained_input: Explained, window: Sizes, stride: Sizes) -> list[Window]:
    """Those of the last rows and columns are cut at the edge."""
    shape = list(explained_input.value.shape[1:])
    places = _places(explained_input, shape)
    usual = (
        [1]
        if len(shape) == 1 or explained_input.embedding is not None
        else [max(1, shape[axis] // 8) for axis in places]
    )
    sizes = _sizes(places, shape, usual if window is None else window, "window")
    halves = [max(1, size // 2) if size < all_of_it else size for size, all_of_it in zip(sizes, shape, strict=True)]
    strides = halves if stride is None else _sizes(places, shape, stride, "stride")
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


def _places(explained_input: Explained, shape: list[int]) -> list[int]:
    """The axes over which windows slide: the last two of an image, the longer of a series, that of tokens."""
    if explained_input.embedding is not None or len(shape) == 1:
        return [0]
    return [shape.index(max(shape))] if len(shape) == 2 else list(range(1, len(shape)))


def _sizes(places: list[int], shape: list[int], sizes_or_one: int | Sequence[int], what: str) -> list[int]:
    several = [sizes_or_one] * len(places) if isinstance(sizes_or_one, int) else list(sizes_or_one)
    if len(several) == len(shape):
        return several
    if len(several) != len(places):
        raise UsageError(f"{what} has {len(several)} sizes, but an example is {shape}: give {len(places)}.")
    sizes = list(shape)
    for axis, size in zip(places, several, strict=True):
        sizes[axis] = size
    return sizes
