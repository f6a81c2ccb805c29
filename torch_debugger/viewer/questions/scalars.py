"""Curves for a picture: of these runs and these tags, what a range of x needs at some width.

/ask/scalars?run=NAME&tags=loss,lr&from=100&to=900&width=400&x=step. Several runs: runs=a,b. Names with
commas come as a JSON list. Without a range it is all. The charts in sight are asked for with one question.
"""

from __future__ import annotations

import math
from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.curves.buckets import choose
from torch_debugger.viewer.curves.encoding import curve_to_json
from torch_debugger.viewer.curves.indexing import Index
from torch_debugger.viewer.curves.lists import names_in
from torch_debugger.viewer.curves.shelf import indexes_of

_WIDTH = 400
_WIDEST = 4000
_MOST_BUCKETS = 200_000  # in one answer: some megabytes


def answer(asked: Asked) -> dict[str, Any]:
    kind = asked.text("x", "step")
    found, missing = read_indexes(asked, kind)
    low, high = bounds(asked)
    width = min(asked.whole("width", _WIDTH), _WIDEST, _MOST_BUCKETS // max(1, len(found)))
    log = asked.text("log") == "1"
    curves = [
        {"run": run, "tag": tag, **curve_to_json(index, choose(index, low, high, max(2, width), log))}
        for (run, tag), index in found.items()
    ]
    return {"x": kind, "curves": curves, "missing": missing}


def bounds(asked: Asked) -> tuple[float, float]:
    low, high = asked.number("from"), asked.number("to")
    return -math.inf if low is None else low, math.inf if high is None else high


def read_indexes(asked: Asked, kind: str) -> tuple[dict[tuple[str, str], Index], list[str]]:
    """By run and tag; and the runs that are not there any more, or do not know this x."""
    tags = names_in(asked.text("tags"))
    runs = names_in(asked.text("runs")) or [asked.text("run")]
    found: dict[tuple[str, str], Index] = {}
    missing: list[str] = []
    for name in runs:
        try:
            indexes = asked.shelf.ask(name, lambda run: indexes_of(run, tags, kind))
        except UsageError:
            if len(runs) == 1:
                raise
            missing.append(name)
            continue
        found |= {(name, tag): index for tag, index in indexes.items()}
    return found, missing
