"""What the page needs once, at its start."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch_debugger._version import __version__
from torch_debugger.log.findings import RESULT_FILE
from torch_debugger.log.folders import FoundRun
from torch_debugger.log.run import Run
from torch_debugger.log.run_facts import Outline, read_outline
from torch_debugger.viewer.questions import Query, as_json, last_value, read_names, thin_curve
from torch_debugger.viewer.shown_runs import ShownRuns


def answer_session(query: Query) -> dict[str, Any]:
    return {
        "runs": len(query.shown_runs.names()),
        "profiles": list(query.shown_runs.call_profiles),
        "traces": len(query.shown_runs.traces.files),
        "edit_token": query.edit_token,
        "version": __version__,
    }


# The names of the runs, the one that was written last first; with `like`, those that hold each of its words.
#
# There may be tens of thousands: as many are told as a list can show, and how many there are.
_MOST = 200


def answer_names(query: Query) -> dict[str, Any]:
    words = query.text("like").lower().split()
    runs = [name for name in query.shown_runs.names() if all(word in name.lower() for word in words)]
    return {"runs": runs[:_MOST], "all": len(runs)}


# Whether something was written since: told by the files' sizes, without reading them.
def answer_pulse(query: Query) -> dict[str, Any]:
    return query.shown_runs.pulse(query.text("run"))


# All runs in one table, as far as their result files tell.
#
# `since` is the version of an earlier answer: where nothing has changed, the rows are null.
_WITHIN_S = 0.7


def answer_runs(query: Query) -> dict[str, Any]:
    return rows_of(query.shown_runs).tell(found_on(query.shown_runs), _WITHIN_S, query.text("since"))._asdict()


# Of the runs that are named (`names`, separated by commas, each escaped): what only their logs tell.
#
# Answers what could be read in a short time; `pending` are the names to ask for again.
_DETAILS_WITHIN_S = 0.4
_MOST_NAMES = 100


def answer_run_details(query: Query) -> dict[str, Any]:
    names = read_names(query.text("names"))[:_MOST_NAMES]
    details, pending = details_of(query.shown_runs).tell(found_on(query.shown_runs), names, _DETAILS_WITHIN_S)
    return {"runs": details, "pending": pending}


# What the table of runs remembers between two questions.
_ROWS: WeakKeyDictionary[ShownRuns, RunRows] = WeakKeyDictionary()
_DETAILS: WeakKeyDictionary[ShownRuns, RunDetails] = WeakKeyDictionary()


def found_on(shown_runs: ShownRuns) -> dict[str, FoundRun]:
    """By name, nothing opened: where each run is, when it was last written and how large it is."""
    return {name: shown.found for name, shown in shown_runs.all_shown().items()}


def rows_of(shown_runs: ShownRuns) -> RunRows:
    return _ROWS.setdefault(shown_runs, RunRows())


def details_of(shown_runs: ShownRuns) -> RunDetails:
    return _DETAILS.setdefault(shown_runs, RunDetails())


# The table of runs: a line each, told by result files and never by a log: ten thousand are no burden.
_LONGEST_MESSAGE = 200
_FRESH_S = 120.0  # a log without a result that was written to this lately may still grow

_State = tuple[float, int, float]  # when the log was written, its size, when the result was written


class RunsTable(NamedTuple):
    version: str
    rows: list[dict[str, Any]] | None  # the one that was written last comes first; None: as in that version
    pending: int  # how many could not be read in the time


class RunRows:
    """Reads a result file once, and again when it has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outlines: dict[str, tuple[_State, Outline]] = {}

    def tell(self, found: Mapping[str, FoundRun], within_s: float, since: str = "") -> RunsTable:
        until = time.monotonic() + within_s
        newest = sorted(found, key=lambda name: (-found[name].changed, name))
        states = {name: _state(found[name]) for name in newest}
        with self._lock:
            self._outlines = {name: kept for name, kept in self._outlines.items() if name in found}
            outlines = {name: self._outline(found[name], name, states[name], until) for name in newest}
        pending = sum(outline is None for outline in outlines.values())
        version = _version(states, pending)
        if version == since:
            return RunsTable(version, None, pending)
        return RunsTable(version, [_row(name, found[name], outlines[name]) for name in newest], pending)

    def _outline(self, found: FoundRun, name: str, state: _State, until: float) -> Outline | None:
        kept = self._outlines.get(name)
        if kept is not None and kept[0] == state:
            return kept[1]
        if time.monotonic() > until:
            return None
        outline = read_outline(found.folder)
        self._outlines[name] = (state, outline)
        return outline


def _state(found: FoundRun) -> _State:
    return found.changed, found.size_bytes, _written(os.path.join(found.folder, RESULT_FILE))


def _version(states: Mapping[str, _State], pending: int) -> str:
    """Changes with whatever a row is made of; a log that has fallen silent counts as a change too."""
    fresh = sum(time.time() - changed < _FRESH_S for changed, _, _ in states.values())
    return hashlib.sha256(repr((states, pending, fresh)).encode()).hexdigest()[:16]


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _row(name: str, found: FoundRun, outline: Outline | None) -> dict[str, Any]:
    row = {"name": name, "changed": found.changed, "size_bytes": found.size_bytes}
    if outline is None:
        return {**row, "status": None}
    message = outline.message
    return row | {
        "status": outline.outcome or ("running" if time.time() - found.changed < _FRESH_S else "unknown"),
        "steps": outline.steps,
        "duration_s": max(0.0, found.changed - outline.began) if outline.began is not None else None,
        "loss": None if outline.loss is None else as_json(outline.loss),
        "verdict": outline.verdict,
        "severity": outline.severity,
        "message": message if message is None or len(message) <= _LONGEST_MESSAGE else message[:199] + "…",
    }


# What only a run's log tells of it for the table of runs: its hyperparameters, its loss as a small curve.
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
        self, found: Mapping[str, FoundRun], names: Sequence[str], within_s: float
    ) -> tuple[dict[str, Details], list[str]]:
        """Of those that could be read in the time, at least one; and the names of the others."""
        until = time.monotonic() + within_s
        ready: dict[str, Details] = {}
        pending: list[str] = []
        known = [name for name in names if name in found]
        for name in sorted(known, key=lambda name: not _has_result(found[name])):  # these are read at once
            details = self._known(name, found[name])
            if details is None and ready and time.monotonic() > until:
                pending.append(name)
            else:
                ready[name] = details or self._read(name, found[name])
        return ready, pending

    def _known(self, name: str, found: FoundRun) -> Details | None:
        kept = self._kept.get(name)
        return kept[2] if kept is not None and kept[:2] == (found.changed, found.size_bytes) else None

    def _read(self, name: str, found: FoundRun) -> Details:
        with self._lock:
            details = _details(found, name) | self._verdict(found, name)
            self._kept[name] = (found.changed, found.size_bytes, details)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return details

    def _verdict(self, found: FoundRun, name: str) -> Details:
        """Of a run that is not over, judged from its records: that takes a while and is not done each time."""
        if _has_result(found) or found.size_bytes > _LARGEST_JUDGED:
            return {}
        judged_s, verdict = self._judged.get(name, (-_JUDGE_EVERY_S, {}))
        if time.monotonic() - judged_s >= _JUDGE_EVERY_S:
            verdict = _judgement(found, name)
            self._judged[name] = (time.monotonic(), verdict)
        return verdict


def _has_result(found: FoundRun) -> bool:
    return os.path.isfile(os.path.join(found.folder, RESULT_FILE))


def _details(found: FoundRun, name: str) -> Details:
    if found.size_bytes > _LARGEST_LOG:
        return {"too_large": True}
    try:
        return _of_log(Run(found.folder, name))
    except Exception as error:  # whatever one run's files hold, the others are listed
        return {"fault": f"torch-debugger cannot read this log ({type(error).__name__}: {error})."}


def _of_log(run: Run) -> Details:
    metrics = [tag for tag in run.tags.get("scalars", []) if not tag.startswith(_OF_THE_LOOP)]
    return {
        "status": run.status,
        "steps": run.steps,
        "duration_s": run.duration_s,
        "watched": run.is_watched,
        "hparams": {name: _short(value) for name, value in list(run.hparams.items())[:_MOST_HPARAMS]},
        "seeds": run.facts.seeds,
        "loss_tag": run.loss_tag,
        "curve": thin_curve(run, run.loss_tag, _MOST_POINTS) if run.loss_tag is not None else None,
        "hparam_metrics": {
            tag: as_json(value) for tag, value in list(run.hparam_metrics.items())[:_MOST_HPARAM_METRICS]
        },
        "metrics": {tag: last_value(run, tag) for tag in metrics[:_MOST_METRICS]},
    }


def _judgement(found: FoundRun, name: str) -> Details:
    try:
        verdict = Run(found.folder, name).verdict
    except Exception:  # whatever the log holds: its row says so by `fault`
        verdict = None
    if verdict is None:
        return {}
    return {"verdict": verdict.name, "severity": verdict.severity, "message": verdict.message[:200]}


def _short(value: bool | int | float | str) -> bool | int | float | str | None:
    if isinstance(value, float):
        return as_json(value)
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[: _LONGEST_TEXT - 1] + "…"
    return value
