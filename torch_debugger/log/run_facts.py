"""What a run says about itself, gathered from its records."""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from torch_debugger.log import decoder_values as parsing
from torch_debugger.log import media
from torch_debugger.log.event_files import host_in_names
from torch_debugger.log.event_log import Log
from torch_debugger.log.findings import Result, read_plain_result
from torch_debugger.log.folders import event_files
from torch_debugger.records import EndFact, HparamsFact, Record, RunFact, SeedFact, Surroundings
from torch_debugger.records.run import HparamValue
from torch_debugger.system.clocks import time

KINDS = (RunFact, EndFact, Surroundings, HparamsFact, SeedFact)


@dataclass(frozen=True, slots=True)
class Facts:
    run: RunFact | None = None
    end: EndFact | None = None
    surroundings: Surroundings | None = None
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)


def gather(records: Iterable[Record], said: dict[str, HparamValue]) -> Facts:
    """`said` are the hyperparameters given by hand, which count more than those that were found."""
    latest: dict[type, Any] = {}
    hparams: list[HparamsFact] = []
    seeds: dict[str, int] = {}
    for record in records:
        latest[type(record)] = record
        if isinstance(record, HparamsFact):
            hparams.append(record)
        elif isinstance(record, SeedFact):
            seeds |= record.seeds
    run, end, around = (latest.get(kind) for kind in (RunFact, EndFact, Surroundings))
    return Facts(run, end, around, merge_hparams(hparams) | said, seeds)


# The hyperparameters of a run under names that other scripts' runs have as well.
def merge_hparams(facts: Sequence[HparamsFact]) -> dict[str, HparamValue]:
    """A later fact counts more. The settings of the only optimizer go by their own names (lr, and its kind as
    optimizer): `opt.lr` of one script is `optimizer.lr` of another."""
    # The variable of the one optimizer whose settings are known; they alone begin with its kind.
    names = {fact.origin for fact in facts if f"{fact.origin}.kind" in fact.values}
    alone = names.pop() if len(names) == 1 else None
    hparams: dict[str, HparamValue] = {}
    optimized: dict[str, HparamValue] = {}
    for fact in facts:
        if alone and fact.origin == alone:
            for name, value in fact.values.items():
                plain = name.removeprefix(f"{alone}.")
                optimized["optimizer" if plain == "kind" else plain] = value
        else:
            hparams |= fact.values
    for name, value in optimized.items():
        if name not in hparams:
            hparams[name] = value
        elif hparams[name] != value:  # the script calls something else so
            hparams[f"optimizer.{'kind' if name == 'optimizer' else name}"] = value
    return hparams


def said_hparams(logs: Iterable[Log]) -> dict[str, HparamValue]:
    """Those that were given to `add_hparams`, of any writer; the last log counts most."""
    found: dict[str, HparamValue] = {}
    for _, value in (each for log in logs for each in log.values("hparams")):
        with suppress(*parsing.FOREIGN):
            found |= media.hparams(value)
    return found


def said_metrics(logs: Sequence[Log]) -> dict[str, float]:
    """The metrics given to `add_hparams`, each with its last value; the last log that has one counts."""
    found: dict[str, float] = {}
    for _, value in (each for log in logs for each in log.values("hparams")):
        with suppress(*parsing.FOREIGN):
            found |= dict.fromkeys(media.metric_tags(value), math.nan)
    curves = {tag: [log.curve(tag) for log in logs if log.has(parsing.SCALARS, tag)] for tag in found}
    return {tag: float(known[-1].values[-1]) for tag, known in curves.items() if known and len(known[-1])}


# How a run stands: ended as it says itself, or told from its process and its files.
ENDED = ("finished", "crashed", "stopped", "killed")
_KILLED = (-9, 137)  # as subprocess and as shells say SIGKILL
_SILENCE_S = 120.0  # of a process on another machine, after which nobody can tell
_LONG_SILENCE_S = 600.0  # of a log that does not say how it ended, after which no more is expected
_GRACE_S = 2.0  # in which a writer may close one file and open the next


def tell_status(facts: Facts, result: Result | None, file_names: list[str], changed: float) -> str:
    """finished | crashed | stopped | running | killed | unknown (a log of another tool, or out of reach)."""
    if result is not None:
        outcome = "killed" if result.exit_code in _KILLED else result.outcome
        return outcome if outcome in ENDED else "stopped"
    if facts.end is not None:
        return facts.end.outcome if facts.end.outcome in ENDED else "unknown"
    if facts.run is None:
        return "unknown"
    if any(f".{host_in_names()}." in name for name in file_names):
        return "running" if _lives(facts.run.pid, facts.run.started) else "killed"
    return "running" if time.time() - changed < _SILENCE_S else "unknown"


def may_grow(paths: list[str], changed: float) -> bool:
    """Of a log that does not say how it ended: whether a writer on this machine still has one of these files
    open; where that cannot be told, whether something was written in the last ten minutes."""
    silent_s = time.time() - changed
    opened = [_is_open(path) for path in paths] or [None]
    return silent_s < _GRACE_S or True in opened or (None in opened and silent_s < _LONG_SILENCE_S)


def _is_open(path: str) -> bool | None:
    """In the process that the file's name says it is of; None where nobody can tell."""
    hosts = "|".join(map(re.escape, (host_in_names(), socket.gethostname())))
    writer = re.search(rf"\.(?:{hosts})\.(\d{{1,9}})\.", os.path.basename(path))
    try:
        files = psutil.Process(int(writer[1])).open_files() if writer is not None else None
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OSError):  # of another user
        return None
    return None if files is None else os.path.realpath(path) in [file.path for file in files]


def _lives(pid: int, started: float) -> bool:
    """The process itself, not a later one with its number."""
    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= started + 1.0)
    except (psutil.Error, ValueError, OverflowError, OSError):
        return False


# How a run went in one line, told without opening its log: from its result file and the names of its files.
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)
_BEGAN = re.compile(r"tfevents\.(\d{9,11}(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Outline:
    """None: not told. A run that is not over has no result, and tells nothing but when it began."""

    began: float | None = None  # seconds since the epoch
    outcome: str | None = None
    steps: int | None = None
    loss: float | None = None  # the last one
    verdict: str | None = None  # the name of the finding
    severity: str | None = None
    message: str | None = None


def read_outline(folder: str) -> Outline:
    plain = read_plain_result(folder)
    # The names of event files begin with their time.
    times = [float(match[1]) for path in event_files(folder) if (match := _BEGAN.search(os.path.basename(path)))]
    began = min(filter(math.isfinite, times), default=None)
    if plain is None:
        return Outline(began)
    loss: float | None = None
    with suppress(*_MALFORMED):  # NaN and the infinities stand in the file as words
        loss = float(plain["loss"]["last"]["value"])
    try:
        place = plain["verdict"]
        found = plain["findings"][place] if isinstance(place, int) else None
        return Outline(
            began=began,
            outcome=str(plain["outcome"]),
            steps=int(plain["steps"]),
            loss=loss,
            verdict=str(found["name"]) if found else None,
            severity=str(found["severity"]) if found else None,
            message=str(found["message"]) if found else None,
        )
    except _MALFORMED:
        return Outline(began)
