"""Whatever holds numbers over steps, as curves: a run, a list of losses, a dictionary of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    name: str
    steps: Floats
    values: Floats

    @property
    def odd(self) -> NDArray[np.bool_]:
        odd: NDArray[np.bool_] = ~np.isfinite(self.values)
        return odd


@dataclass(frozen=True)
class Mark:
    """A step at which something was found."""

    step: int
    name: str
    severity: str


def read_lines(source: Any, tag: str | Sequence[str] | None, steps: Any) -> list[Line]:
    if isinstance(source, (str, PathLike)):
        raise UsageError(
            f"expected a run, not the path of one: loss_curve(torch_debugger.Run({str(source)!r}))."
        )
    if hasattr(source, "scalars"):
        return _of_run(source, tag)
    if isinstance(source, Mapping):
        return [_line(str(name), values, None) for name, values in source.items()]
    return [_line("loss", source, steps)]


def read_marks(source: Any) -> list[Mark]:
    """What a run's checks found, notes left out."""
    found = getattr(source, "findings", None) or ()
    marks = [Mark(int(each.first_step), str(each.name), str(each.severity)) for each in found]
    return [mark for mark in marks if mark.severity != "note"]


def _of_run(run: Any, tag: str | Sequence[str] | None) -> list[Line]:
    chosen = tag if tag is not None else run.loss_tag
    if chosen is None:
        known = ", ".join(f"`{name}`" for name in run.tags.get("scalars", [])[:5]) or "no scalars at all"
        raise UsageError(f"no tag of this run looks like a loss; it has {known}. Say which one with tag=.")
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    return [_line(name, run.scalars(name), None) for name in names]


def _line(name: str, values: Any, steps: Any) -> Line:
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
    return Line(name, places, numbers)


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
