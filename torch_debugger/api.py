"""Two runs compared: `torch_debugger.diff(a, b)` and `torch-debugger diff A B`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from torch_debugger.log.compare import compare
from torch_debugger.log.run import Run
from torch_debugger.log.runs import newest_run, open_run, open_runs_of
from torch_debugger.report.comparison import ComparisonReport
from torch_debugger.report.text import write_whole
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.report_file import MARK, make_file_of, make_one_file

_Where = str | os.PathLike[str] | Run


def diff(first: _Where, second: _Where, *, replicates: Sequence[_Where] = ()) -> ComparisonReport:
    """What differs between two runs, and where they part.

    A run is its log's folder, its name under ./runs, the result.json beside its log, or one of
    `torch_debugger.runs()`. `replicates` are
    runs like one of the two with other seeds: they tell how far apart runs of one kind end.
    """
    ours, theirs, *others = (open_run(where) for where in (first, second, *replicates))
    return ComparisonReport(compare(ours, theirs, others))


# Runs as one file: `torch_debugger.write_report(run, path)` and `torch-debugger report RUN`.
_MOST_RUNS = 50  # in one file
_BEGINNING = 200  # characters, in which a report of ours says that it is one


Named = str | os.PathLike[str] | Run


class Written(NamedTuple):
    path: str
    size_bytes: int
    left_out: dict[str, int]  # what did not fit: question -> how many answers
    has_page: bool  # False: the page was not built, and the file holds only what needs no script


def write_report(
    run: Named | Sequence[Named] | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    replace: bool = False,
) -> Written:
    """Writes one HTML file that shows the run without any server or network, also without JavaScript.

    `run` is the folder of a log, its name under ./runs, or a `Run`; without one, the run under ./runs that was
    written last. Several of them, or a folder with several runs below it, are compared in one file, up to 50.
    `path` is NAME.html in the working folder (runs.html for several) unless given. A report of ours is written
    over; any other file only with `replace=True`.
    """
    opened = _opened(run)
    name = _file_name(opened[0].name) if len(opened) == 1 else "runs"
    target = Path(path) if path is not None else Path(f"{name}.html")
    _require_place(target, replace)
    made = make_one_file(opened[0]) if len(opened) == 1 else make_file_of(opened)
    try:
        write_whole(target, made.html)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from error
    return Written(os.fspath(target), len(made.html.encode()), made.left_out, made.has_page)


def _opened(run: Named | Sequence[Named] | None) -> list[Run]:
    if run is None:
        return [newest_run()]
    wanted = [run] if isinstance(run, (str, os.PathLike, Run)) else list(run)
    if not wanted:
        raise UsageError("No run was named.")
    found = open_runs_of(wanted)
    if len(found) > _MOST_RUNS:
        raise UsageError(
            f"A report compares up to {_MOST_RUNS} runs, and these are {len(found):,}. Name those to compare; "
            "`torch-debugger view` shows them all."
        )
    return found


def _require_place(target: Path, replace: bool) -> None:
    """Complains before the run is read."""
    if target.is_dir():
        raise UsageError(f"A report is one file, and {target} is a folder. Name a file: {target / 'report.html'}.")
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent} to write {target.name} into.")
    if target.is_file() and not replace and not _is_report(target):
        raise UsageError(
            f"{target} is there already and is no report of torch-debugger. Name another file, or --force."
        )


def _is_report(file: Path) -> bool:
    with file.open(encoding="utf-8", errors="replace") as opened:
        return MARK in opened.read(_BEGINNING)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "report"
