"""The loss over a training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from torch_debugger.pictures.figures import CYCLE, PALE, SECOND, plain_axes, put_below, titled_figure
from torch_debugger.pictures.picture import Picture
from torch_debugger.system.errors import UsageError

# A loss over the steps of a run, with what went wrong marked where it did.
_DECADES = 2.0  # from which a logarithmic axis shows more
_SMOOTH = 30  # points that make a line worth smoothing
_WIDEST = 200  # points on either side
_MOST_MARKS = 6


def loss_curve(
    run: Any, tag: str | Sequence[str] | None = None, *, steps: Any = None, smooth: int | None = None
) -> Picture:
    """The loss over a run: every point, and a smoothed line over them.

        loss_curve(torch_debugger.Run("runs/train-1")).save("loss.png")
        loss_curve(run, tag=["train/loss", "val/loss"])
        loss_curve(losses)                                   # a list of numbers; steps=... if they have some
        loss_curve({"train": train_losses, "val": val_losses})

    NaN and Inf are marked where they are, findings of a watched run at the step that they were first seen.
    The axis is logarithmic where the values span two decades. Each point of the smoothed line is the mean of
    `smooth` points on either side, by default as suits their number; with 0 there is no such line.
    """
    if smooth is not None and smooth < 0:
        raise UsageError(f"smooth= is the number of points on either side, 0 or more, not {smooth}.")
    lines = read_lines(run, tag, steps)
    # What a run's checks found, notes left out.
    found = getattr(run, "findings", None) or ()
    marks = [Mark(int(each.first_step), str(each.name), str(each.severity)) for each in found]
    marks = [mark for mark in marks if mark.severity != "note"]
    remarks = []
    for line in lines:
        for word, which in (("NaN", np.isnan(line.values)), ("Inf", np.isinf(line.values))):
            if which.any():
                count, first = int(which.sum()), int(line.steps[which.argmax()])
                remarks.append(f"{line.name} is {word} at {count} of {len(which)} points, first at step {first}.")
    names = ", ".join(line.name for line in lines)
    points = max(len(line.values) for line in lines)
    title = f"{names} over {points:,} point{'s'[: points != 1]}"
    arrays = {f"{line.name}: {what}": getattr(line, what) for line in lines for what in ("steps", "values")}
    return Picture(title, arrays, lambda: _draw(title, lines, marks, smooth, remarks), remarks)


def _draw(title: str, lines: list[CurveLine], marks: list[Mark], smooth: int | None, remarks: list[str]) -> Figure:
    figure = titled_figure(8.0, 4.0 + 0.16 * (len(remarks) + min(len(marks), _MOST_MARKS)), title)
    axes = plain_axes(figure.add_subplot(), "step", lines[0].name if len(lines) == 1 else "value")
    for line, colour in zip(lines, CYCLE * (1 + len(lines) // len(CYCLE)), strict=False):
        count = len(line.values)
        usual = 0 if count < _SMOOTH else min(_WIDEST, max(2, count // 60))
        reach = smooth if smooth is not None else usual
        # A run that began again at an earlier step draws a new line there; what is not finite is a gap.
        back = np.flatnonzero(np.diff(line.steps) < 0) + 1
        ways = zip(np.split(line.steps, back), np.split(np.where(line.odd, np.nan, line.values), back), strict=True)
        for place, (steps, values) in enumerate(ways):
            label = None if place else f"{line.name}, smoothed" if reach else line.name
            if reach:
                axes.plot(steps, values, color=colour, alpha=0.3, linewidth=0.8)
                values = smoothed(values, reach)
            alone = "." if len(steps) < 3 else None
            axes.plot(steps, values, color=colour, linewidth=1.4, label=label, marker=alone)
        for word, which, form in (("NaN", np.isnan(line.values), "x"), ("Inf", np.isinf(line.values), "^")):
            if which.any():
                axes.plot(
                    line.steps[which], [0.97] * int(which.sum()), form, color=SECOND, markersize=5,
                    transform=axes.get_xaxis_transform(), clip_on=False, label=f"{line.name} is {word}",
                )  # fmt: skip
    known: Floats = np.concatenate([line.values[~line.odd] for line in lines])
    if known.size and known.min() > 0:
        low, high = np.quantile(known, [0.01, 1.0])
        if math.log10(high / low) >= _DECADES:
            axes.set_yscale("log")
    words = [*remarks, *_mark(axes, marks)]
    axes.legend(fontsize=8, frameon=False, loc="best")
    put_below(figure, words)
    return figure


def smoothed(values: Floats, reach: int) -> Floats:
    """The mean of as many points on either side, fewer near the ends, so that no slope moves the line. What is
    NaN counts for nothing and stays NaN."""
    known = np.isfinite(values)
    filled, window = np.where(known, values, 0.0), np.ones(2 * reach + 1)
    short = len(values) <= 2 * reach
    sums = filled if short else np.convolve(filled, window, "same")
    counts = known.astype(np.float64) if short else np.convolve(known, window, "same")
    for place in range(len(values)) if short else [*range(reach), *range(len(values) - reach, len(values))]:
        near = min(place, len(values) - 1 - place, reach)
        around = slice(place - near, place + near + 1)
        sums[place], counts[place] = np.where(known, values, 0.0)[around].sum(), known[around].sum()
    answer: Floats = np.where(known, sums / np.maximum(counts, 1), np.nan)
    return answer


def _mark(axes: Axes, marks: list[Mark]) -> list[str]:
    """Numbers at the top of dotted lines, and what they stand for."""
    shown = sorted(marks, key=lambda mark: mark.step)[:_MOST_MARKS]
    for number, mark in enumerate(shown, start=1):
        before = sum(other.step == mark.step for other in shown[: number - 1])  # at the same step
        axes.axvline(mark.step, color=SECOND if mark.severity == "error" else PALE, linewidth=1, linestyle=":")
        axes.annotate(
            str(number), (mark.step, 1.0), (2 + 9 * before, 2), size=8, color=SECOND,
            xycoords=axes.get_xaxis_transform(), textcoords="offset points",
        )  # fmt: skip
    words = [f"{number}: {mark.name}, {mark.severity} since step {mark.step}." for number, mark in enumerate(shown, 1)]
    more = [f"And {len(marks) - len(shown)} more findings."] if len(marks) > len(shown) else []
    return words + more


# Whatever holds numbers over steps, as curves: a run, a list of losses, a dictionary of either.
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CurveLine:
    name: str
    steps: Floats
    values: Floats

    @property
    def odd(self) -> NDArray[np.bool_]:
        not_finite: NDArray[np.bool_] = ~np.isfinite(self.values)
        return not_finite


@dataclass(frozen=True)
class Mark:
    """A step at which something was found."""

    step: int
    name: str
    severity: str


def read_lines(source: Any, tag: str | Sequence[str] | None, steps: Any) -> list[CurveLine]:
    if isinstance(source, (str, PathLike)):
        raise UsageError(f"expected a run, not the path of one: loss_curve(torch_debugger.Run({str(source)!r})).")
    if hasattr(source, "scalars"):
        chosen = tag if tag is not None else source.loss_tag
        if chosen is None:
            known = ", ".join(f"`{name}`" for name in source.tags.get("scalars", [])[:5]) or "no scalars at all"
            raise UsageError(f"no tag of this run looks like a loss; it has {known}. Say which one with tag=.")
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        return [_line(name, source.scalars(name), None) for name in names]
    if isinstance(source, Mapping):
        return [_line(str(name), values, None) for name, values in source.items()]
    return [_line("loss", source, steps)]


def _line(name: str, values: Any, steps: Any) -> CurveLine:
    """`values` may be a curve, which has its own steps, or pairs of step and value."""
    if hasattr(values, "steps") and hasattr(values, "values"):
        values, steps = values.values, values.steps
    numbers = _numbers(name, values)
    if numbers.ndim == 2 and numbers.shape[1] == 2 and steps is None:
        numbers, steps = numbers[:, 1], numbers[:, 0]
    if numbers.ndim != 1 or not numbers.size:
        raise UsageError(f"expected numbers over steps for `{name}`, but got a shape of {list(numbers.shape)}.")
    places = np.arange(len(numbers), dtype=np.float64) if steps is None else _numbers(name, steps)
    if places.shape != numbers.shape:
        raise UsageError(f"`{name}` has {len(numbers)} values but {len(places)} steps.")
    return CurveLine(name, places, numbers)


def _numbers(name: str, values: Any) -> Floats:
    if isinstance(values, torch.Tensor):
        values = values.detach().to(torch.float64).cpu()
    elif isinstance(values, (list, tuple)):
        values = [float(each.detach()) if isinstance(each, torch.Tensor) else each for each in values]
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"`{name}` is no curve: expected a run, a list of numbers, or a dictionary of lists, "
            f"but got {type(values).__name__}."
        ) from error
