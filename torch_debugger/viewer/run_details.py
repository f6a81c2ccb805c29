"""What only a run's log tells of it for the table of runs: its hyperparameters, its loss as a small curve."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from torch_debugger.archive.folders import Found
from torch_debugger.archive.judgements import RESULT_FILE
from torch_debugger.archive.run import Run
from torch_debugger.viewer.grids import as_json, thinned

_MOST_POINTS = 60  # of a small curve
_MOST_HPARAMS = 100
_MOST_METRICS = 12
_MOST_HPARAM_METRICS = 20
_LONGEST_TEXT = 120
_MOST_KEPT = 20_000
_LARGEST_LOG = 300_000_000  # bytes: what takes longer than a look at a table may
_LARGEST_JUDGED = 20_000_000  # bytes: every record is read for it
_JUDGE_EVERY_S = 20.0
_OF_THE_LOOP = ("time/", "lr/", "scaler/", "grad_norm", "weight_norm")

Details = dict[str, Any]


class RunDetails:
    """Each log is read once, and again when it has grown; only what is shown of it is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, int, Details]] = OrderedDict()
        self._judged: dict[str, tuple[float, Details]] = {}  # when, and what was found

    def tell(
        self, found: Mapping[str, Found], names: Sequence[str], within_s: float
    ) -> tuple[dict[str, Details], list[str]]:
        """Of those that could be read in the time, at least one; and the names of the others."""
        until = time.monotonic() + within_s
        told: dict[str, Details] = {}
        pending: list[str] = []
        known = [name for name in names if name in found]
        for name in sorted(known, key=lambda name: not _has_result(found[name])):  # these are read at once
            details = self._known(name, found[name])
            if details is None and told and time.monotonic() > until:
                pending.append(name)
            else:
                told[name] = details or self._read(name, found[name])
        return told, pending

    def _known(self, name: str, found: Found) -> Details | None:
        kept = self._kept.get(name)
        return kept[2] if kept is not None and kept[:2] == (found.changed, found.size_bytes) else None

    def _read(self, name: str, found: Found) -> Details:
        with self._lock:
            details = _details(found, name) | self._verdict(found, name)
            self._kept[name] = (found.changed, found.size_bytes, details)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return details

    def _verdict(self, found: Found, name: str) -> Details:
        """Of a run that is not over, judged from its records: that takes a while and is not done each time."""
        if _has_result(found) or found.size_bytes > _LARGEST_JUDGED:
            return {}
        judged_s, verdict = self._judged.get(name, (-_JUDGE_EVERY_S, {}))
        if time.monotonic() - judged_s >= _JUDGE_EVERY_S:
            verdict = _judgement(found, name)
            self._judged[name] = (time.monotonic(), verdict)
        return verdict


def _has_result(found: Found) -> bool:
    return os.path.isfile(os.path.join(found.folder, RESULT_FILE))


def _details(found: Found, name: str) -> Details:
    if found.size_bytes > _LARGEST_LOG:
        return {"too_large": True}
    try:
        return _of_log(Run(found.folder, name))
    except Exception as error:  # whatever one run's files hold, the others are listed
        return {"fault": f"torch-debugger cannot read this log ({type(error).__name__}: {error})."}


def _of_log(run: Run) -> Details:
    return {
        "status": run.status,
        "steps": run.steps,
        "duration_s": run.duration_s,
        "watched": run.is_watched,
        "hparams": {name: _short(value) for name, value in list(run.hparams.items())[:_MOST_HPARAMS]},
        "seeds": run.facts.seeds,
        "loss_tag": run.loss_tag,
        "curve": _curve(run, run.loss_tag),
        "hparam_metrics": {
            tag: as_json(value) for tag, value in list(run.hparam_metrics.items())[:_MOST_HPARAM_METRICS]
        },
        "metrics": {tag: _last(run, tag) for tag in _metrics(run)},
    }


def _judgement(found: Found, name: str) -> Details:
    try:
        verdict = Run(found.folder, name).verdict
    except Exception:  # whatever the log holds: its row says so by `fault`
        verdict = None
    if verdict is None:
        return {}
    return {"verdict": verdict.name, "severity": verdict.severity, "message": verdict.message[:200]}


def _metrics(run: Run) -> list[str]:
    tags = [tag for tag in run.tags.get("scalars", []) if not tag.startswith(_OF_THE_LOOP)]
    return tags[:_MOST_METRICS]


def _last(run: Run, tag: str) -> float | str | None:
    values = run.scalars(tag).values
    return as_json(float(values[-1])) if len(values) else None


def _curve(run: Run, tag: str | None) -> dict[str, Any] | None:
    if tag is None:
        return None
    curve = run.scalars(tag)
    chosen = thinned(curve.values, _MOST_POINTS)
    values = [as_json(value) for value in curve.values[chosen].tolist()]
    return {"steps": curve.steps[chosen].tolist(), "values": values}


def _short(value: bool | int | float | str) -> bool | int | float | str | None:
    if isinstance(value, float):
        return as_json(value)
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[: _LONGEST_TEXT - 1] + "…"
    return value
