"""What stands below a curve: steps, epochs, time, or samples, as far as the run knows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np

from torch_debugger.archive.curve import Curve
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.records import BatchLook, LoaderFact
from torch_debugger.viewer.curves.indexing import Floats

_EPOCH_TAG = re.compile(r"(.*[/.])?(current_)?epochs?", re.IGNORECASE | re.DOTALL)
_MANY_TAGS = 50  # of the log of another tool, to find when it began
_FIRST_DATE = 1e9  # seconds since 1970: before that nothing was logged

NAMES = {
    "step": "step",
    "epoch": "epoch",
    "relative": "time since the start",
    "time": "time",
    "samples": "samples",
}


def kinds_of(run: Run) -> list[str]:
    """Those that this run knows."""
    known = {"epoch": epoch_knots(run) is not None, "samples": batch_size(run) is not None}
    return [kind for kind in NAMES if known.get(kind, True)]


def maker_of(run: Run, kind: str) -> Callable[[Curve], Floats]:
    """What turns a curve of this run into its x. It is asked for once for many curves."""
    if kind == "step":
        return lambda curve: curve.steps.astype(np.float64)
    if kind == "time":
        return lambda curve: curve.times
    if kind == "relative":
        start = start_of(run)
        return lambda curve: curve.times - start
    if kind == "samples" and (size := batch_size(run)) is not None:
        return lambda curve: curve.steps.astype(np.float64) * size
    if kind == "epoch" and (knots := epoch_knots(run)) is not None:
        return lambda curve: epochs_at(curve.steps.astype(np.float64), *knots)
    known = ", ".join(kinds_of(run))
    raise UsageError(f"The run {run.name!r} has no x by {kind!r}; it has {known}.")


def start_of(run: Run) -> float:
    said = run.facts.run
    if said is not None and said.started >= _FIRST_DATE:
        return said.started
    curves = (run.scalars(tag) for tag in run.tags.get("scalars", [])[:_MANY_TAGS])
    return min((float(curve.times[0]) for curve in curves if len(curve)), default=0.0)


def batch_size(run: Run) -> int | None:
    """Of the loader that trains, or the hyperparameter of that name."""
    loader = _training_loader(run)
    if loader is not None and loader.batch_size:
        return loader.batch_size
    said = run.hparams.get("batch_size")
    return said if type(said) is int and said > 0 else None


def epoch_knots(run: Run) -> tuple[Floats, Floats] | None:
    """Steps, and the epoch under way at each: from a tag with that name, or from the batches."""
    for tag in run.tags.get("scalars", []):
        if _EPOCH_TAG.fullmatch(tag[:1000]):
            curve = run.scalars(tag)
            knots = _stairs(curve.steps.astype(np.float64), curve.values)
            if knots is not None:
                return knots
    return _knots_of_batches(run)


def epochs_at(steps: Floats, at: Floats, epochs: Floats) -> Floats:
    """Between two knots in a straight line, and behind the last one as fast as before it."""
    found = np.interp(steps, at, epochs)
    if len(at) > 1:
        pace = (epochs[-1] - epochs[0]) / (at[-1] - at[0])
        behind = steps > at[-1]
        found[behind] = epochs[-1] + (steps[behind] - at[-1]) * pace
    return found


def _stairs(steps: Floats, values: Floats) -> tuple[Floats, Floats] | None:
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    if (np.diff(values) < 0).any() or (np.diff(steps) < 0).any():
        return None
    firsts = np.flatnonzero(np.concatenate([[True], np.diff(values) > 0]))
    at, epochs = steps[firsts], values[firsts]
    return (at, epochs) if len(at) > 1 and (np.diff(at) > 0).all() else None


def _training_loader(run: Run) -> LoaderFact | None:
    looks = Counter(
        look.loader for look in run.records(BatchLook) if isinstance(look, BatchLook) and look.trained
    )
    loaders = [each for each in run.records(LoaderFact) if isinstance(each, LoaderFact)]
    most = looks.most_common(1)
    return next((each for each in loaders if most and each.number == most[0][0]), None)


def _knots_of_batches(run: Run) -> tuple[Floats, Floats] | None:
    loader = _training_loader(run)
    if loader is None or not loader.length:
        return None
    looks = [look for look in run.records(BatchLook) if isinstance(look, BatchLook) and look.trained]
    pairs = sorted(
        (look.step, look.iteration - 1 + look.index / loader.length)
        for look in looks
        if look.loader == loader.number
    )
    steps, epochs = np.array(pairs, np.float64).T
    return _stairs(steps, epochs)
