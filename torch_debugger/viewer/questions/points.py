"""Every point of one tag, as a table to keep: step, time and value, with all their digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_debugger.archive.curve import Curve
from torch_debugger.viewer.asked import Asked, File

_AT_ONCE = 100_000


def answer(asked: Asked) -> File:
    tag = asked.text("tag")
    curve = asked.of_run(lambda run: run.scalars(tag))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", tag).strip("-.")[:80] or "points"
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return File("".join(_rows(curve)).encode(), "text/csv; charset=utf-8", headers)


def _rows(curve: Curve) -> Iterator[str]:
    yield "step,seconds_since_1970,value\n"
    for start in range(0, len(curve), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        rows = zip(
            curve.steps[part].tolist(), curve.times[part].tolist(), curve.values[part].tolist(), strict=True
        )
        yield "".join(f"{step},{time!r},{value!r}\n" for step, time, value in rows)
