"""The curves that were looked at, ready to be looked at again."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.curves import Curve
from torch_debugger.log.run import Run
from torch_debugger.records import BatchLook, LoaderFact
from torch_debugger.system.errors import UsageError

# A curve made ready to be looked at in any range: its extremes are known block by block.
BLOCK = 64  # points; a million of them are looked through as 16 thousand blocks

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Points by ascending x. Of each block: where its least and its greatest finite value are, and what its
    finite values add up to. A block without any finite value has its first point in their stead."""

    x: Floats
    y: Floats
    lowest: Places
    highest: Places
    sums: Floats
    counts: NDArray[np.int64]
    odd: Places  # the points that are not finite

    def __len__(self) -> int:
        return len(self.x)


def make_index(x: Floats, y: Floats) -> Index:
    known = np.isfinite(x)
    if not known.all():
        x, y = x[known], y[known]
    if (np.diff(x) < 0).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    finite = np.isfinite(y)
    starts = np.arange(0, len(y), BLOCK)
    return Index(
        x,
        y,
        starts + _rows(np.where(finite, y, np.inf), np.inf).argmin(axis=1),
        starts + _rows(np.where(finite, y, -np.inf), -np.inf).argmax(axis=1),
        _rows(np.where(finite, y, 0.0), 0.0).sum(axis=1),
        _rows(finite.astype(np.float64), 0.0).sum(axis=1).astype(np.int64),
        np.flatnonzero(~finite),
    )


def _rows(values: Floats, filling: float) -> Floats:
    whole = np.full(-(-len(values) // BLOCK) * BLOCK, filling)
    whole[: len(values)] = values
    return whole.reshape(-1, BLOCK)


_MOST_POINTS = 16_000_000  # of one run: about 300 MB

_Kept = OrderedDict[tuple[str, str], Index]
_kept: WeakKeyDictionary[Run, tuple[int, _Kept]] = WeakKeyDictionary()
_lock = threading.Lock()


def indexes_of(run: Run, tags: list[str], kind: str) -> dict[str, Index]:
    """By tag, those that the run has. Made once, and again when something was written. Those who ask about one
    run take turns; the lock is for what all runs share."""
    kept = _of_run(run)
    there = set(run.tags.get("scalars", []))
    wanted = [tag for tag in tags if tag in there]
    missing = [tag for tag in wanted if (tag, kind) not in kept]
    if missing:
        along = maker_of(run, kind)
        for tag in missing:
            curve = run.scalars(tag)
            kept[tag, kind] = make_index(along(curve), curve.values)
    found = {tag: kept[tag, kind] for tag in wanted}
    just_used = [(tag, kind) for tag in wanted]
    for key in just_used:
        kept.move_to_end(key)
    points = sum(len(index) for index in kept.values())
    while points > _MOST_POINTS and len(kept) > len(just_used):
        points -= len(kept.popitem(last=False)[1])
    return found


def _of_run(run: Run) -> _Kept:
    with _lock:
        reads, kept = _kept.get(run, (-1, OrderedDict()))
        if reads != run.reads:
            kept = OrderedDict()
            _kept[run] = (run.reads, kept)
        return kept


# What stands below a curve: steps, epochs, time, or samples, as far as the run knows them.
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
    loader = _training_loader(run)
    if loader is None or not loader.length:
        return None
    looks = [look for look in run.records(BatchLook) if look.trained]
    pairs = sorted(
        (look.step, look.iteration - 1 + look.index / loader.length) for look in looks if look.loader == loader.number
    )
    steps, epochs = np.array(pairs, np.float64).T
    return _stairs(steps, epochs)


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
    looks = Counter(look.loader for look in run.records(BatchLook) if look.trained)
    most = looks.most_common(1)
    return next((each for each in run.records(LoaderFact) if most and each.number == most[0][0]), None)


# The points of a curve that a picture of some width needs: of each bucket the first, the last, the least and the
# greatest, and the first of each kind that is not finite, with their count. Nothing that stands out is lost.
_BLOCKS_IN_A_BUCKET = 8  # from here on buckets begin where blocks do: at most a sixteenth of a bucket beside its place


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    places: Places  # ascending
    edges: Places  # of the buckets, from the first to behind the last; empty where every point is chosen
    many: dict[int, int]  # a chosen place that is not finite -> how many of its kind its bucket has, if several


def choose(index: Index, low: float, high: float, width: int, log: bool = False) -> Chosen:
    """From `low` to `high`, and one point more on either side: that is where the line comes from."""
    start = max(0, int(np.searchsorted(index.x, low, "left")) - 1)
    end = min(len(index), int(np.searchsorted(index.x, high, "right")) + 1)
    if end - start <= 4 * width:
        return Chosen(np.arange(start, max(start, end)), np.empty(0, np.intp), {})
    if end - start >= width * BLOCK * _BLOCKS_IN_A_BUCKET:
        start, end = start // BLOCK * BLOCK, min(len(index), -(-end // BLOCK) * BLOCK)
        edges = _snapped(_edges(index, start, end, width, log))
        first, upto = int(edges[0]) // BLOCK, -(-int(edges[-1]) // BLOCK)
        bounds = -(-edges // BLOCK) - first
        lowest, highest = index.lowest[first:upto], index.highest[first:upto]
        least, greatest = lowest[_least(index.y[lowest], bounds)], highest[_least(-index.y[highest], bounds)]
    else:
        edges = _edges(index, start, end, width, log)
        part, bounds = index.y[edges[0] : edges[-1]], edges - edges[0]
        least, greatest = edges[0] + _least(part, bounds), edges[0] + _least(-part, bounds)
    not_finite, many = _not_finite(index, edges)
    places = np.unique(np.concatenate([edges[:-1], edges[1:] - 1, least, greatest, not_finite]))
    return Chosen(places, edges, many)


def means(index: Index, chosen: Chosen) -> tuple[Floats, Floats]:
    """The middle and the mean of each bucket that has finite values: what a smoothed line follows."""
    edges = chosen.edges
    if not len(edges):
        places = chosen.places[np.isfinite(index.y[chosen.places])]
        return index.x[places], index.y[places]
    with np.errstate(over="ignore"):
        if not (edges[:-1] % BLOCK).any() and (edges[-1] % BLOCK == 0 or edges[-1] == len(index)):
            starts = edges[:-1] // BLOCK
            upto = -(-int(edges[-1]) // BLOCK)
            sums = np.add.reduceat(index.sums[:upto], starts)
            counts = np.add.reduceat(index.counts[:upto], starts)
        else:
            part = index.y[edges[0] : edges[-1]]
            finite = np.isfinite(part)
            sums = np.add.reduceat(np.where(finite, part, 0.0), edges[:-1] - edges[0])
            counts = np.add.reduceat(finite.astype(np.int64), edges[:-1] - edges[0])
    there = counts > 0
    return index.x[(edges[:-1] + edges[1:]) // 2][there], sums[there] / counts[there]


def _edges(index: Index, start: int, end: int, width: int, log: bool) -> Places:
    """Of equal width on the axis; buckets without a point are left out."""
    x = index.x[start:end]
    first = float(x[np.searchsorted(x, 0, "right")]) if log and x[-1] > 0 else float(x[0])
    spread = np.geomspace if log and x[-1] > 0 else np.linspace
    cuts = spread(first, float(x[-1]), width + 1)[1:-1]
    return np.unique(np.concatenate([[start], start + np.searchsorted(x, cuts), [end]])).astype(np.intp)


def _snapped(edges: Places) -> Places:
    inner = (edges[1:-1] + BLOCK // 2) // BLOCK * BLOCK
    inner = inner[(inner > edges[0]) & (inner < edges[-1])]
    return np.unique(np.concatenate([edges[:1], inner, edges[-1:]]))


def _least(values: Floats, bounds: Places) -> Places:
    """The place of the first least finite value of each stretch; of one that has none, any of it."""
    values = np.where(np.isfinite(values), values, np.inf)
    least = np.minimum.reduceat(values, bounds[:-1])
    hits = np.flatnonzero(values == np.repeat(least, np.diff(bounds)))
    owners = np.searchsorted(bounds, hits, "right") - 1
    return hits[np.unique(owners, return_index=True)[1]]


def _not_finite(index: Index, edges: Places) -> tuple[Places, dict[int, int]]:
    start, end = np.searchsorted(index.odd, [edges[0], edges[-1]])
    not_finite = index.odd[start:end]
    if not len(not_finite):
        return not_finite, {}
    kinds = np.where(np.isnan(index.y[not_finite]), 0, np.sign(index.y[not_finite]))  # of an infinity the sign
    owners = (np.searchsorted(edges, not_finite, "right") - 1) * 3 + kinds.astype(np.intp) + 1
    _, firsts, counts = np.unique(owners, return_index=True, return_counts=True)
    several = {int(not_finite[first]): int(count) for first, count in zip(firsts, counts, strict=True) if count > 1}
    return np.sort(not_finite[firsts]), several


# Numbers of curves as JSON: packed, because a picture needs ten thousand of them and none may lose a digit.
_SMALLER = {"i4": np.dtype("<i4"), "f4": np.dtype("<f4")}


def pack(values: Floats) -> dict[str, str]:
    """Base64 of the smallest kind of number that holds them exactly, by that kind. NaN and Inf stay."""
    for name, kind in _SMALLER.items():
        with np.errstate(all="ignore"):
            smaller = values.astype(kind)
        if np.array_equal(smaller, values, equal_nan=kind.kind == "f"):
            return {name: b64encode(smaller.tobytes()).decode()}
    return {"f8": b64encode(values.astype("<f8").tobytes()).decode()}


def curve_to_json(index: Index, chosen: Chosen) -> dict[str, Any]:
    made: dict[str, Any] = {
        "x": pack(index.x[chosen.places]),
        "y": pack(index.y[chosen.places]),
        "points": len(index),
        "extent": index.x[[0, -1]].tolist() if len(index) else None,
        "values": _ends(index),
        "notfinite": _counts(index.y[index.odd]),
    }
    if chosen.many:
        here = np.searchsorted(chosen.places, list(chosen.many)).tolist()
        made["many"] = dict(zip(here, chosen.many.values(), strict=True))
    if len(chosen.edges):
        x, y = means(index, chosen)
        made["means"] = {"x": pack(x), "y": pack(y.astype(np.float32).astype(np.float64))}
    return made


def _ends(index: Index) -> list[float] | None:
    """The least and the greatest finite value."""
    lows, highs = index.y[index.lowest], index.y[index.highest]
    lows, highs = lows[np.isfinite(lows)], highs[np.isfinite(highs)]
    return [float(lows.min()), float(highs.max())] if len(lows) else None


def _counts(not_finite: Floats) -> dict[str, int]:
    nan = int(np.isnan(not_finite).sum())
    above = int((not_finite > 0).sum())
    return {"nan": nan, "inf": above, "-inf": len(not_finite) - nan - above}
