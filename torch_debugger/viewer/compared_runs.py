"""Two runs compared (`runs`: two names separated by a comma, each escaped): what differs, where they part."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from torch_debugger.log.compare import compare
from torch_debugger.log.folders import FoundRun
from torch_debugger.log.run import Run
from torch_debugger.records.findings import Difference, Topic
from torch_debugger.report.comparison import (
    answer,
    noise_sentence,
    not_compared,
    precision,
    suspect_sentence,
    verdict_sentences,
)
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.curves import Floats, Index, pack
from torch_debugger.viewer.questions import Query, names_in, read_names, thin_curve
from torch_debugger.viewer.runs import found_on
from torch_debugger.viewer.scalars import bounds, read_indexes

_LARGEST_LOGS = 300_000_000  # bytes of both: every number of every step is held against the other's
_MOST_KEPT = 8
_kept: OrderedDict[tuple[FoundRun, FoundRun], dict[str, Any]] = OrderedDict()


def answer_compare(query: Query) -> dict[str, Any]:
    names, found = read_names(query.text("runs")), found_on(query.shown_runs)
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError(f"There is no run {missing[0]!r} in the folder that is shown.")
    if len(names) != 2:
        raise UsageError(f"Two runs can be compared step by step, but {len(names)} were named.")
    pair = found[names[0]], found[names[1]]
    if sum(each.size_bytes for each in pair) > _LARGEST_LOGS:
        raise UsageError("These logs are too large to compare in the page; torch-debugger diff A B does it.")
    # A pair that has not changed since is not compared again.
    made = _kept.pop(pair, None) or compared(Run(pair[0].folder, names[0]), Run(pair[1].folder, names[1]))
    _kept[pair] = made
    while len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return made


# The losses of the runs that are named (`runs`, separated by commas, each escaped), to be drawn together.
_MOST_RUNS = 50


def answer_losses(query: Query) -> dict[str, Any]:
    """{"runs": {NAME: {"tag", "steps", "values"}, or null without a loss}, "all": how many were named}."""
    names = read_names(query.text("runs"))
    return {"runs": {name: query.shown_runs.ask(name, _loss) for name in names[:_MOST_RUNS]}, "all": len(names)}


def _loss(run: Run) -> dict[str, Any] | None:
    return {"tag": run.loss_tag, **thin_curve(run, run.loss_tag)} if run.loss_tag is not None else None


# Runs grouped by a hyperparameter: the mean of each group and its spread over the runs in it.
#
# Without `by`: the hyperparameters in which these runs differ, to choose one. With it: as `scalars`, one curve for
# each group.
_WIDEST = 1000


def answer_grouped(query: Query) -> dict[str, Any]:
    settings = _settings(query)
    by = query.text("by")
    if not by:
        return {"by": _differing(settings)}
    kind = query.text("x", "step")
    found, missing = read_indexes(query, kind)
    low, high = bounds(query)
    width = min(_WIDEST, max(2, query.whole("width", 400)))
    groups: dict[tuple[str, str], list[tuple[str, Index]]] = {}
    for (run, tag), index in found.items():
        groups.setdefault((tag, settings.get(run, {}).get(by, "not given")), []).append((run, index))
    return {
        "x": kind,
        "missing": missing,
        "groups": [
            {"tag": tag, "value": value, **_one(members, low, high, width)} for (tag, value), members in groups.items()
        ],
    }


def _one(members: list[tuple[str, Index]], low: float, high: float, width: int) -> dict[str, Any]:
    group = group_curves([index for _, index in members], low, high, width)
    return {
        "runs": [run for run, _ in members],
        "x": pack(group.x),
        "mean": pack(group.mean),
        "std": pack(group.std),
        "count": pack(group.runs),
        "notfinite": sum(len(index.odd) for _, index in members),
    }


def _settings(query: Query) -> dict[str, dict[str, str]]:
    """The hyperparameters of each run as words; runs that are gone are left out."""
    found: dict[str, dict[str, str]] = {}
    for name in names_in(query.text("runs")):
        try:
            hparams = query.shown_runs.ask(name, lambda run: dict(run.hparams))
        except UsageError:
            continue
        found[name] = {key: str(value) for key, value in hparams.items()}
    return found


def _differing(settings: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    names = dict.fromkeys(name for each in settings.values() for name in each)
    values = {name: list(dict.fromkeys(each.get(name, "not given") for each in settings.values())) for name in names}
    return {name: each for name, each in values.items() if len(each) > 1}


# A comparison of two runs for the page: its sentences and its tables.
_MOST_ROWS = 300  # of one topic
_MOST_LINES = 1500  # of a diff


def compared(first: Run, second: Run) -> dict[str, Any]:
    found = compare(first, second)
    gap = found.parting.gap
    sentences = [precision(found.parting) if not found.unwatched else ""]
    sentences += [suspect_sentence(found.suspect)] if found.suspect is not None else []
    sentences += [found.cause.sentence, "" if found.cause.points else found.cause.check] if found.cause else []
    if found.parting.verdict == "parted":
        sentences += [noise_sentence(each) for each in found.noise if each.difference]
    advice = [f"To see the place exactly, run both with closer looks: {found.advice}"] if found.advice else []
    return {
        "runs": [first.name, second.name],
        "answer": answer(found),
        "verdict": found.parting.verdict,
        "step": gap.step if gap is not None else None,
        "sentences": [sentence for sentence in sentences if sentence],
        "findings": verdict_sentences(found) if found.verdicts else [],
        "points": _rows(found.cause.points) if found.cause else [],
        "topics": [_topic(topic) for topic in found.topics],
        "small_print": [*not_compared(found), *found.missing, *advice],
    }


def _topic(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "differences": _rows(topic.differences),
        "all_differences": len(topic.differences),
        "lines": topic.lines[:_MOST_LINES],
        "all_lines": len(topic.lines),
        "unseen": topic.unseen,
    }


def _rows(differences: tuple[Difference, ...]) -> list[dict[str, str]]:
    return [{"name": each.name, "first": each.first, "second": each.second} for each in differences[:_MOST_ROWS]]


# Runs that differ in chance only, as one curve: their mean and how far they spread.
@dataclass(frozen=True, slots=True, eq=False)
class Group:
    x: Floats
    mean: Floats
    std: Floats  # over the runs, of the population: 0 where there is one run
    runs: Floats  # how many of them have a finite value there


def group_curves(indexes: list[Index], low: float, high: float, width: int) -> Group:
    """Each run is averaged over the same stretches of x first, so that none counts more for logging more often.
    Where the runs have few points, a stretch is one x."""
    parts = [_within(index, low, high) for index in indexes]
    every = np.unique(np.concatenate([x for x, _ in parts])) if parts else np.empty(0)
    if len(every) > width:
        edges = np.linspace(every[0], every[-1], width + 1)
        centres = (edges[:-1] + edges[1:]) / 2
        places = [np.clip(np.searchsorted(edges, x, "right") - 1, 0, width - 1) for x, _ in parts]
    else:
        centres = every
        places = [np.searchsorted(every, x) for x, _ in parts]
    table = np.array([_averaged(at, y, len(centres)) for at, (_, y) in zip(places, parts, strict=True)])
    table = table.reshape(len(parts), len(centres))
    there = np.isfinite(table)
    runs = there.sum(axis=0)
    kept = runs > 0
    values = np.where(there, table, 0.0)[:, kept]
    mean = values.sum(axis=0) / runs[kept]
    away = np.where(there[:, kept], values - mean, 0.0)
    return Group(centres[kept], mean, np.sqrt((away**2).sum(axis=0) / runs[kept]), runs[kept].astype(np.float64))


def _within(index: Index, low: float, high: float) -> tuple[Floats, Floats]:
    start, end = np.searchsorted(index.x, low, "left"), np.searchsorted(index.x, high, "right")
    return index.x[start:end], index.y[start:end]


def _averaged(places: np.ndarray[tuple[int], np.dtype[np.intp]], y: Floats, count: int) -> Floats:
    """NaN where a run has nothing finite."""
    finite = np.isfinite(y)
    sums = np.bincount(places[finite], y[finite], count)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums / np.bincount(places[finite], minlength=count)
    return means
