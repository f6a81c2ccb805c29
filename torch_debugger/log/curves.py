"""One tag's scalars over a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torch_debugger.system.errors import DebuggerError

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Every point in the order in which it was written, or by step where several writers wrote at the same
    time; NaN and Inf are kept. Steps can repeat and go back."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    times: NDArray[np.float64]  # seconds since the epoch

    def __len__(self) -> int:
        return len(self.steps)


class Points(NamedTuple):
    """Points of one tag with the places in the file where they stand."""

    places: NDArray[np.int64]
    steps: NDArray[np.int64]
    values: NDArray[np.float64]
    times: NDArray[np.float64]

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Points:
        return Points(self.places[which], self.steps[which], self.values[which], self.times[which])


NO_POINTS = Points(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def join(parts: list[Points]) -> Points:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    return Points(*map(np.concatenate, zip(*parts, strict=True))) if parts else NO_POINTS


def merge(parts: list[Points]) -> Points:
    """One after the other; those that were written at the same time, by several writers, step by step."""
    groups: list[list[Points]] = []
    written_until = -np.inf
    for part in [part for part in parts if len(part.places)]:
        if groups and part.times.min() < written_until:
            groups[-1].append(part)
        else:
            groups.append([part])
        written_until = max(written_until, part.times.max())
    return join([_by_step(join(group)) if len(group) > 1 else group[0] for group in groups])


def _by_step(points: Points) -> Points:
    return points.chosen(np.lexsort((points.times, points.steps)))


def in_order(points: Points) -> Points:
    """As they stand in the file."""
    if (np.diff(points.places) >= 0).all():
        return points
    return points.chosen(np.argsort(points.places, kind="stable"))


# Scalars as a pandas table, where pandas is installed.
def to_frame(curves: dict[str, Curve]) -> pandas.DataFrame:
    """One row per point: no point is lost where tags have steps of their own or steps repeat."""
    try:
        import pandas
    except ImportError as error:
        raise DebuggerError("to_pandas() needs pandas, which is not installed: pip install pandas") from error
    codes = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves.values()])
    columns = {
        name: np.concatenate([np.empty(0, dtype), *(getattr(curve, f"{name}s") for curve in curves.values())])
        for name, dtype in (("step", np.int64), ("value", np.float64), ("time", np.float64))
    }
    tags = pandas.Categorical.from_codes(codes, categories=list(curves))
    return pandas.DataFrame({"tag": tags, **columns})


# Which of a run's tags is the loss.

# Best first. A part of a name counts as a whole word: train_loss, Loss/train, training/loss_epoch.
_PATTERNS = [
    r"loss",
    r"(train|training)[/_.-]loss",
    r"loss[/_.-](train|training|total)",
    r"(.*[/_.-])?(train|training)[/_.-].*loss.*",
    r"(.*[/_.-])?(total[/_.-])?loss([/_.-].*)?",
    r".*loss.*",
]


def find_loss_tag(tags: Sequence[str]) -> str | None:
    for pattern in _PATTERNS:
        for tag in tags:
            if re.fullmatch(pattern, tag[:1000], re.IGNORECASE | re.DOTALL):
                return tag
    return None
