"""Curves for a picture: of these runs and these tags, what a range of x needs at some width.

/ask/scalars?run=NAME&tags=loss,lr&from=100&to=900&width=400&x=step. Several runs: runs=a,b. Names with
commas come as a JSON list. Without a range it is all. The charts in sight are asked for with one question.
"""

from __future__ import annotations

import bisect
import csv
import io
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from torch_debugger.log.curves import Curve
from torch_debugger.log.media import PR_CURVES, PrCurve, ScalarCategory, ScalarChart
from torch_debugger.log.run import NotInArchiveError, Run
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.curves import NAMES, Index, choose, curve_to_json, indexes_of, kinds_of, maker_of, pack
from torch_debugger.viewer.questions import File, Query, names_in

_Answer = TypeVar("_Answer")
_WIDTH = 400
_WIDEST = 4000
_MOST_BUCKETS = 200_000  # in one answer: some megabytes


def answer_scalars(query: Query) -> dict[str, Any]:
    kind = query.text("x", "step")
    found, missing = read_indexes(query, kind)
    low, high = bounds(query)
    width = min(query.whole("width", _WIDTH), _WIDEST, _MOST_BUCKETS // max(1, len(found)))
    log = query.text("log") == "1"
    curves = [
        {"run": run, "tag": tag, **curve_to_json(index, choose(index, low, high, max(2, width), log))}
        for (run, tag), index in found.items()
    ]
    return {"x": kind, "curves": curves, "missing": missing}


def bounds(query: Query) -> tuple[float, float]:
    low, high = query.number("from"), query.number("to")
    return -math.inf if low is None else low, math.inf if high is None else high


def read_indexes(query: Query, kind: str) -> tuple[dict[tuple[str, str], Index], list[str]]:
    """By run and tag; and the runs that are not there any more, or do not know this x."""
    tags = names_in(query.text("tags"))
    found: dict[tuple[str, str], Index] = {}
    missing: list[str] = []
    for name, indexes in _of_each(query, lambda run: indexes_of(run, tags, kind)):
        if indexes is None:
            missing.append(name)
        else:
            found |= {(name, tag): index for tag, index in indexes.items()}
    return found, missing


def _of_each(query: Query, question: Callable[[Run], _Answer]) -> Iterator[tuple[str, _Answer | None]]:
    """Of one run, or of several (`runs`); None for one of several that is gone or has no answer."""
    runs = names_in(query.text("runs")) or [query.text("run")]
    for name in runs:
        try:
            answer = query.shown_runs.ask(name, question)
        except UsageError:
            if len(runs) == 1:
                raise
            yield name, None
        else:
            yield name, answer


# The scalars of a run by name, and what can stand below them.
def answer_tags(query: Query) -> dict[str, Any]:
    return query.of_run(
        lambda run: {
            "tags": run.tags.get("scalars", []),
            "loss": run.loss_tag,
            "axes": [{"kind": kind, "name": NAMES[kind]} for kind in kinds_of(run)],
        }
    )


# Where in a run something was found: the steps to mark in its curves.
_MOST = 20


def answer_marks(query: Query) -> dict[str, Any]:
    kind = query.text("x", "step")
    return query.of_run(lambda run: {"marks": _marks(run, kind)})


def _marks(run: Run, kind: str) -> list[dict[str, Any]]:
    findings = [each for each in run.findings if each.severity != "note" and each.first_step is not None][:_MOST]
    steps = np.array([each.first_step for each in findings], np.int64)
    # A step's time is that of the loss, or of the first tag there is.
    tag = run.loss_tag or next(iter(run.tags.get("scalars", [])), None)
    along: list[float] = steps.astype(np.float64).tolist()
    if tag is not None and len(steps):
        curve = run.scalars(tag)
        order = np.argsort(curve.steps, kind="stable")
        times = np.interp(steps, curve.steps[order], curve.times[order])
        along = maker_of(run, kind)(Curve(steps, np.zeros(len(steps)), times)).tolist()
    return [
        {"x": x, "step": each.first_step, "name": each.name, "severity": each.severity, "message": each.message}
        for x, each in zip(along, findings, strict=True)
    ]


# Every point of one tag, as a table to keep: step, time and value, with all their digits. Of several runs (runs=a,b)
# each row begins with its run.
_AT_ONCE = 100_000
_HEAD = "step,seconds_since_1970,value\n"


def answer_points(query: Query) -> File:
    tag, runs = query.text("tag"), names_in(query.text("runs"))
    if len(runs) > 1:
        return _table(f"{len(runs)}-runs-{tag}", "".join(_overlaid(query, runs, tag)))
    run = runs[0] if runs else query.text("run")
    curve = query.shown_runs.ask(run, lambda found: found.scalars(tag))
    return _table(f"{run}-{tag}", "".join([_HEAD, *_rows(curve)]))


def _table(title: str, text: str) -> File:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.")[:80] or "points"
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return File(text.encode(), "text/csv; charset=utf-8", headers)


def _overlaid(query: Query, runs: list[str], tag: str) -> Iterator[str]:
    """A run that is gone, or does not know the tag, has no rows, as it has no line in the chart."""
    yield f"run,{_HEAD}"
    for run in runs:
        try:
            curve = query.shown_runs.ask(run, lambda found: found.scalars(tag))
        except (UsageError, NotInArchiveError):
            continue
        # Quoted where a table needs it.
        made = io.StringIO()
        csv.writer(made, lineterminator="").writerow([run])
        yield from _rows(curve, made.getvalue() + ",")


def _rows(curve: Curve, before: str = "") -> Iterator[str]:
    for start in range(0, len(curve), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        rows = zip(curve.steps[part].tolist(), curve.times[part].tolist(), curve.values[part].tolist(), strict=True)
        yield "".join(f"{before}{step},{time!r},{value!r}\n" for step, time, value in rows)


# Charts of several curves: those of `add_scalars`, and those that a layout of `add_custom_scalars` asks for.
#
# Of one run or of several (`runs`, a list), whose layouts are joined, category by category.
_MOST_LINES = 40  # in a chart: more are a blot


def answer_scalar_charts(query: Query) -> dict[str, Any]:
    categories: dict[str, ScalarCategory] = {}
    series: dict[str, dict[str, str]] = {}
    tags: dict[str, None] = {}
    for _, layout in _of_each(query, lambda run: (run.scalar_categories, run.series, run.tags.get("scalars", []))):
        if layout is None:
            continue
        own, charts, scalars = layout
        for category in own:
            known = categories.setdefault(category.title, category)
            known.charts += [chart for chart in category.charts if chart not in known.charts]
        for tag, members in charts.items():
            series.setdefault(tag, {}).update(members)
        tags |= dict.fromkeys(scalars)
    return {
        "series": [{"tag": tag, "lines": _lines(members)} for tag, members in series.items()],
        "categories": [_category(each, list(tags)) for each in categories.values()],
    }


def _lines(members: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "tag": tag} for name, tag in list(members.items())[:_MOST_LINES]]


def _category(category: ScalarCategory, tags: list[str]) -> dict[str, Any]:
    charts = [_chart(chart, tags) for chart in category.charts]
    return {"title": category.title, "closed": category.closed, "charts": charts}


def _chart(chart: ScalarChart, tags: list[str]) -> dict[str, Any]:
    found = chart.tags_in(tags)
    margins = [
        {"name": margin.value, "tag": margin.value, "lower": margin.lower, "upper": margin.upper}
        for margin in chart.margins
        if margin.value in tags
    ]
    return {
        "title": chart.title,
        "lines": [*({"name": tag, "tag": tag} for tag in found[:_MOST_LINES]), *margins],
        "left_out": max(0, len(found) - _MOST_LINES),
        "asked": [*chart.patterns, *(margin.value for margin in chart.margins)],
    }


# Precision against recall, as `add_pr_curve` has logged it, of one run or of several (`runs`, a list).
#
# Without a tag: the tags, and the steps of each in any of the runs. With tag and step: of each run the curve that was
# the last one at that step, or its first.
_MOST_TAGS = 400
_MOST_POINTS = 500  # of a curve: thresholds are 127 unless somebody wants more


def answer_pr_curves(query: Query) -> dict[str, Any]:
    tag, step = query.text("tag"), query.whole("step", 0)
    if not tag:
        steps: dict[str, set[int]] = {}
        for _, logged in _of_each(query, lambda run: run.steps_of(PR_CURVES)):
            for name, at in (logged or {}).items():
                steps.setdefault(name, set()).update(at)
        return {"tags": [{"tag": name, "steps": sorted(at)} for name, at in list(steps.items())[:_MOST_TAGS]]}
    curves: list[dict[str, Any]] = []
    missing: list[str] = []
    for name, found in _of_each(query, lambda run: _at(run, tag, step)):
        if found is None:
            missing.append(name)
        else:
            curves += [{"run": name, **_plain(curve)} for curve in found]
    return {"tag": tag, "step": step, "curves": curves, "missing": missing}


def _at(run: Run, tag: str, step: int) -> list[PrCurve]:
    steps = run.steps_of(PR_CURVES).get(tag, [])
    if not steps:
        return []
    there = steps[max(0, bisect.bisect_right(steps, step) - 1)]
    found: list[PrCurve] = run.media_at(PR_CURVES, tag, [there])
    return found[-1:]


def _plain(curve: PrCurve) -> dict[str, Any]:
    stride = -(-len(curve.recall) // _MOST_POINTS)
    some = slice(None, None, stride)
    best = curve.best
    return {
        "step": curve.step,
        "recall": pack(curve.recall[some]),
        "precision": pack(curve.precision[some]),
        "thresholds": pack(curve.thresholds[some]),
        "average_precision": curve.average_precision,
        "best": {
            "threshold": float(curve.thresholds[best]),
            "f1": float(curve.f1[best]),
            "precision": float(curve.precision[best]),
            "recall": float(curve.recall[best]),
        },
    }
