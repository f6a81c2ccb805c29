"""Every point of one tag, as a table to keep: step, time and value, with all their digits. Of several runs
(runs=a,b) each row begins with its run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from torch_debugger.archive.curve import Curve
from torch_debugger.archive.naming import NotInArchiveError
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.curves.lists import names_in

_AT_ONCE = 100_000
_HEAD = "step,seconds_since_1970,value\n"


def answer(asked: Asked) -> File:
    tag, runs = asked.text("tag"), names_in(asked.text("runs"))
    if len(runs) > 1:
        return _table(f"{len(runs)}-runs-{tag}", "".join(_overlaid(asked, runs, tag)))
    run = runs[0] if runs else asked.text("run")
    curve = asked.shelf.ask(run, lambda found: found.scalars(tag))
    return _table(f"{run}-{tag}", "".join([_HEAD, *_rows(curve)]))


def _table(title: str, text: str) -> File:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.")[:80] or "points"
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return File(text.encode(), "text/csv; charset=utf-8", headers)


def _overlaid(asked: Asked, runs: list[str], tag: str) -> Iterator[str]:
    """A run that is gone, or does not know the tag, has no rows, as it has no line in the chart."""
    yield f"run,{_HEAD}"
    for run in runs:
        try:
            curve = asked.shelf.ask(run, lambda found: found.scalars(tag))
        except (UsageError, NotInArchiveError):
            continue
        yield from _rows(curve, _cell(run) + ",")


def _cell(text: str) -> str:
    """Quoted where a table needs it."""
    made = io.StringIO()
    csv.writer(made, lineterminator="").writerow([text])
    return made.getvalue()


def _rows(curve: Curve, before: str = "") -> Iterator[str]:
    for start in range(0, len(curve), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        rows = zip(
            curve.steps[part].tolist(), curve.times[part].tolist(), curve.values[part].tolist(), strict=True
        )
        yield "".join(f"{before}{step},{time!r},{value!r}\n" for step, time, value in rows)
