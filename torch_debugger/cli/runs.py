"""torch-debugger runs: what was trained below a folder, and how it went."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from torch_debugger.log.object_stores import named_places
from torch_debugger.log.run import Run
from torch_debugger.log.runs import Runs
from torch_debugger.log.runs import runs as find_runs
from torch_debugger.report.tables import RunLine, render_runs
from torch_debugger.report.text import one_line

_MOST_SHOWN = 50
_MOST_POINTS = 2000  # of a loss, enough for a small picture
_MOST_DAMAGE = 5
_SORTS = ("when", "name", "loss", "steps", "took", "status", "verdict")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="FOLDER",
        help="where to look, also in its subfolders (runs); with a name in front, if you like: base:runs/a",
    )
    parser.add_argument("--sort", choices=_SORTS, default="when", help="newest first, unless you say otherwise")
    parser.add_argument("--limit", type=_count, default=_MOST_SHOWN, help=f"how many to show ({_MOST_SHOWN})")
    parser.add_argument("--json", action="store_true", help="the same list for programs, all of it")


def run(arguments: argparse.Namespace) -> int:
    found = _find(named_places(arguments.folders or ["runs"]))
    if arguments.json:
        json.dump([_plain(each) for each in _chosen(found, arguments.sort, None)], sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif not len(found):
        sys.stdout.write(_nothing(found.folder))
    else:
        _print(found, arguments, Console())
    return 0


def _find(places: Sequence[tuple[str | None, str]]) -> Runs:
    """Of several folders the names of the runs begin with the folder's, or with the name that was given."""
    if len(places) == 1 and places[0][0] is None:
        return find_runs(places[0][1])
    found = [
        replace(run, name=os.path.normpath(os.path.join(name or place, run.name)))
        for name, place in places
        for run in find_runs(place).found
    ]
    return Runs(", ".join(place for _, place in places), found)


def _print(found: Runs, arguments: argparse.Namespace, console: Console) -> None:
    chosen = _chosen(found, arguments.sort, arguments.limit)
    render_runs([each.line for each in chosen], console)
    left_out = len(found) - len(chosen)
    if left_out:
        words = f"{left_out:,} more of {len(found):,} runs are not shown; --limit {len(found)} shows them all."
        console.print(Text(words, style="dim"))
    damage = [f"{one_line(each.line.name)}: {one_line(words)}" for each in chosen for words in each.damage]
    for sentence in damage[:_MOST_DAMAGE]:
        console.print(Text(sentence, style="dim"))
    if len(damage) > _MOST_DAMAGE:
        console.print(Text(f"{len(damage) - _MOST_DAMAGE} more files are damaged.", style="dim"))


def _chosen(found: Runs, sort: str, limit: int | None) -> list[_Listed]:
    """Sorted; where the order can be told without reading, only those that are shown are read."""
    if sort == "when":
        places = sorted(range(len(found)), key=lambda place: -found.found[place].changed)
        return [_read(found[place]) for place in places[:limit]]
    if sort == "name":
        return [_read(each) for each in found[:limit]]
    return sorted(map(_read, found), key=lambda each: _KEYS[sort](each.line))[:limit]


_KEYS: dict[str, Callable[[RunLine], Any]] = {
    "loss": lambda line: math.inf if line.loss is None or math.isnan(line.loss) else line.loss,
    "steps": lambda line: -line.steps,
    "took": lambda line: -(line.duration_s or 0.0),
    "status": lambda line: line.status,
    "verdict": lambda line: (line.severity, line.verdict) if line.severity else ("~",),
}


class _Listed(NamedTuple):
    """A run, read."""

    line: RunLine
    folder: str
    message: str | None  # of the verdict
    tags: dict[str, list[str]]
    damage: list[str]


def _read(each: Run) -> _Listed:
    try:
        message = each.verdict.message if each.verdict is not None else None
        return _Listed(_line(each), each.folder, message, each.tags, each.damage)
    except Exception as error:  # whatever one run's files hold, the others are listed
        fault = f"torch-debugger cannot read it, a fault of its own: {type(error).__name__}: {error}"
        return _Listed(RunLine(each.name, "unknown", "cannot be read", "", 0, None), each.folder, None, {}, [fault])


def _losses(each: Run) -> list[float]:
    """The run's losses, thinned to what a small picture needs; the last one is always there."""
    tag = each.loss_tag
    values = each.scalars(tag).values if tag is not None else None
    return values[:: -max(1, len(values) // _MOST_POINTS)][::-1].tolist() if values is not None else []


def _line(each: Run) -> RunLine:
    verdict, losses = each.verdict, _losses(each)
    return RunLine(
        name=each.name,
        status=each.status,
        verdict=verdict.name if verdict is not None else _no_verdict(each),
        severity=verdict.severity if verdict is not None else "",
        steps=each.steps,
        loss=losses[-1] if losses else None,
        losses=losses,
        duration_s=each.duration_s,
        changed=each.changed,
        hparams=each.hparams,
        metrics=each.hparam_metrics,
    )


def _no_verdict(each: Run) -> str:
    if not each.is_watched:
        return "not watched"
    return "nothing yet" if each.status == "running" else "nothing found"


def _plain(each: _Listed) -> dict[str, Any]:
    line = each.line
    return {
        "name": line.name,
        "folder": each.folder,
        "status": line.status,
        "verdict": line.verdict if line.severity else None,
        "severity": line.severity or None,
        "message": each.message,
        "steps": line.steps,
        "loss": _number(line.loss),
        "duration_s": line.duration_s,
        "changed": line.changed,
        "hparams": {name: _number(value) for name, value in line.hparams.items()},
        "metrics": {tag: _number(value) for tag, value in line.metrics.items()},
        "tags": each.tags,
        "damage": each.damage,
    }


def _number(value: Any) -> Any:
    """JSON has no NaN and no infinity; they go as 'nan', 'inf' and '-inf'."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of runs from 1 on was expected, not {text!r}")
    return int(text)


def _nothing(folder: str) -> str:
    return (
        f"No runs in {one_line(folder)}: there is no event file in it or below it.\n"
        "`torch-debugger run train.py` keeps its log in runs; `torch-debugger runs FOLDER` looks elsewhere.\n"
    )
