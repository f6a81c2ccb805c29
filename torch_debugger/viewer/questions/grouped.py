"""Runs grouped by a hyperparameter: the mean of each group and its spread over the runs in it.

Without `by`: the hyperparameters in which these runs differ, to choose one. With it: as `scalars`, one
curve for each group.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.curves.encoding import pack
from torch_debugger.viewer.curves.grouping import group_curves
from torch_debugger.viewer.curves.indexing import Index
from torch_debugger.viewer.curves.lists import names_in
from torch_debugger.viewer.questions.scalars import bounds, read_indexes

_WIDEST = 1000


def answer(asked: Asked) -> dict[str, Any]:
    settings = _settings(asked)
    by = asked.text("by")
    if not by:
        return {"by": _differing(settings)}
    kind = asked.text("x", "step")
    found, missing = read_indexes(asked, kind)
    low, high = bounds(asked)
    width = min(_WIDEST, max(2, asked.whole("width", 400)))
    groups: dict[tuple[str, str], list[tuple[str, Index]]] = {}
    for (run, tag), index in found.items():
        groups.setdefault((tag, settings.get(run, {}).get(by, "not given")), []).append((run, index))
    return {
        "x": kind,
        "missing": missing,
        "groups": [
            {"tag": tag, "value": value, **_one(members, low, high, width)}
            for (tag, value), members in groups.items()
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


def _settings(asked: Asked) -> dict[str, dict[str, str]]:
    """The hyperparameters of each run as words; runs that are gone are left out."""
    found: dict[str, dict[str, str]] = {}
    for name in names_in(asked.text("runs")):
        try:
            hparams = asked.shelf.ask(name, lambda run: dict(run.hparams))
        except UsageError:
            continue
        found[name] = {key: str(value) for key, value in hparams.items()}
    return found


def _differing(settings: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    names = dict.fromkeys(name for each in settings.values() for name in each)
    values = {
        name: list(dict.fromkeys(each.get(name, "not given") for each in settings.values())) for name in names
    }
    return {name: each for name, each in values.items() if len(each) > 1}
