"""The scalars of one rank of a run, as its own log has them; as many as a screen holds."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.grids import as_json, thinned

_MOST_TAGS = 12
_MOST_POINTS = 300


def answer(asked: Asked) -> dict[str, Any]:
    rank = asked.whole("rank", 0)
    return asked.of_run(lambda run: _curves(run, rank))


def _curves(run: Run, rank: int) -> dict[str, Any]:
    part = run.ranks.get(rank)
    if part is None:
        raise UsageError(f"The run {run.name!r} has no rank {rank}.")
    tags = part.tags.get("scalars", [])
    first = [part.loss_tag] if part.loss_tag is not None else []
    shown = list(dict.fromkeys([*first, *tags]))[:_MOST_TAGS]
    return {"rank": rank, "curves": [_curve(part, tag) for tag in shown], "all_tags": len(tags)}


def _curve(part: Run, tag: str) -> dict[str, Any]:
    curve = part.scalars(tag)
    chosen = thinned(curve.values, _MOST_POINTS)
    values = [as_json(value) for value in curve.values[chosen].tolist()]
    return {"tag": tag, "steps": curve.steps[chosen].tolist(), "values": values}
