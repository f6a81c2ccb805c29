"""The table of runs: a line each, told by result files and never by a log: ten thousand are no burden."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch_debugger.archive.folders import Found
from torch_debugger.archive.judgements import RESULT_FILE
from torch_debugger.archive.outlines import Outline, read_outline
from torch_debugger.viewer.grids import as_json

_LONGEST_MESSAGE = 200
_FRESH_S = 120.0  # a log without a result that was written to this lately may still grow

_State = tuple[float, int, float]  # when the log was written, its size, when the result was written


class Table(NamedTuple):
    version: str
    rows: list[dict[str, Any]] | None  # the one that was written last comes first; None: as in that version
    pending: int  # how many could not be read in the time


class RunRows:
    """Reads a result file once, and again when it has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outlines: dict[str, tuple[_State, Outline]] = {}

    def tell(self, found: Mapping[str, Found], within_s: float, since: str = "") -> Table:
        until = time.monotonic() + within_s
        newest = sorted(found, key=lambda name: (-found[name].changed, name))
        states = {name: _state(found[name]) for name in newest}
        with self._lock:
            self._outlines = {name: kept for name, kept in self._outlines.items() if name in found}
            outlines = {name: self._outline(found[name], name, states[name], until) for name in newest}
        pending = sum(outline is None for outline in outlines.values())
        version = _version(states, pending)
        if version == since:
            return Table(version, None, pending)
        return Table(version, [_row(name, found[name], outlines[name]) for name in newest], pending)

    def _outline(self, found: Found, name: str, state: _State, until: float) -> Outline | None:
        kept = self._outlines.get(name)
        if kept is not None and kept[0] == state:
            return kept[1]
        if time.monotonic() > until:
            return None
        outline = read_outline(found.folder)
        self._outlines[name] = (state, outline)
        return outline


def _state(found: Found) -> _State:
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


def _row(name: str, found: Found, outline: Outline | None) -> dict[str, Any]:
    row = {"name": name, "changed": found.changed, "size_bytes": found.size_bytes}
    if outline is None:
        return {**row, "status": None}
    message = outline.message
    return row | {
        "status": outline.outcome or _unfinished(found),
        "steps": outline.steps,
        "duration_s": max(0.0, found.changed - outline.began) if outline.began is not None else None,
        "loss": None if outline.loss is None else as_json(outline.loss),
        "verdict": outline.verdict,
        "severity": outline.severity,
        "message": message if message is None or len(message) <= _LONGEST_MESSAGE else message[:199] + "…",
    }


def _unfinished(found: Found) -> str:
    return "running" if time.time() - found.changed < _FRESH_S else "unknown"
