"""One run as one file: `torch_debugger.write_report(run, path)` and `torch-debugger report RUN`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from torch_debugger.archive.opening import newest_run, open_one_run
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.report.whole_file import write_whole
from torch_debugger.viewer.one_file import MARK, make_one_file

_BEGINNING = 200  # characters, in which a report of ours says that it is one


class Written(NamedTuple):
    path: str
    size_bytes: int
    left_out: dict[str, int]  # what did not fit: question -> how many answers
    has_page: bool  # False: the page was not built, and the file holds only what needs no script


def write_report(
    run: str | os.PathLike[str] | Run | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    replace: bool = False,
) -> Written:
    """Writes one HTML file that shows the run without any server or network, also without JavaScript.

    `run` is the folder of a log, its name under ./runs, or a `Run`; without one, the run under ./runs that was
    written last. `path` is NAME.html in the working folder unless given. A report of ours is written over;
    any other file only with `replace=True`.
    """
    opened = newest_run() if run is None else open_one_run(run)
    target = Path(path) if path is not None else Path(f"{_file_name(opened.name)}.html")
    _require_place(target, replace)
    made = make_one_file(opened)
    try:
        write_whole(target, made.html)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from error
    return Written(os.fspath(target), len(made.html.encode()), made.left_out, made.has_page)


def _require_place(target: Path, replace: bool) -> None:
    """Complains before the run is read."""
    if target.is_dir():
        raise UsageError(
            f"A report is one file, and {target} is a folder. Name a file: {target / 'report.html'}."
        )
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
