"""Precision against recall, as `add_pr_curve` has logged it, of one run or of several (`runs`, a list).

Without a tag: the tags, and the steps of each in any of the runs. With tag and step: of each run the curve that
was the last one at that step, or its first.
"""

from __future__ import annotations

import bisect
from typing import Any

from torch_debugger.archive.pr_curves import KIND, PrCurve
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.curves.encoding import pack
from torch_debugger.viewer.curves.lists import names_in

_MOST_TAGS = 400
_MOST_POINTS = 500  # of a curve: thresholds are 127 unless somebody wants more


def answer(asked: Asked) -> dict[str, Any]:
    tag, step = asked.text("tag"), asked.whole("step", 0)
    runs = names_in(asked.text("runs")) or [asked.text("run")]
    if not tag:
        return {"tags": _tags(asked, runs)}
    curves: list[dict[str, Any]] = []
    missing: list[str] = []
    for name in runs:
        try:
            found = asked.shelf.ask(name, lambda run: _at(run, tag, step))
        except UsageError:
            if len(runs) == 1:
                raise
            missing.append(name)
            continue
        curves += [{"run": name, **_plain(curve)} for curve in found]
    return {"tag": tag, "step": step, "curves": curves, "missing": missing}


def _tags(asked: Asked, runs: list[str]) -> list[dict[str, Any]]:
    steps: dict[str, set[int]] = {}
    for name in runs:
        try:
            found = asked.shelf.ask(name, lambda run: run.steps_of(KIND))
        except UsageError:
            if len(runs) == 1:
                raise
            continue
        for tag, at in found.items():
            steps.setdefault(tag, set()).update(at)
    return [{"tag": tag, "steps": sorted(at)} for tag, at in list(steps.items())[:_MOST_TAGS]]


def _at(run: Run, tag: str, step: int) -> list[PrCurve]:
    steps = run.steps_of(KIND).get(tag, [])
    if not steps:
        return []
    there = steps[max(0, bisect.bisect_right(steps, step) - 1)]
    found: list[PrCurve] = run.media_at(KIND, tag, [there])
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
