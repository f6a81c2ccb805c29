"""The losses of the runs that are named (`runs`, separated by commas, each escaped), to be drawn together."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.grids import as_json, thinned
from torch_debugger.viewer.run_names import read_names

_MOST_RUNS = 50


def answer(asked: Asked) -> dict[str, Any]:
    """{"runs": {NAME: {"tag", "steps", "values"}, or null without a loss}, "all": how many were named}."""
    names = read_names(asked.text("runs"))
    return {"runs": {name: asked.shelf.ask(name, _loss) for name in names[:_MOST_RUNS]}, "all": len(names)}


def _loss(run: Run) -> dict[str, Any] | None:
    tag = run.loss_tag
    if tag is None:
        return None
    curve = run.scalars(tag)
    chosen = thinned(curve.values)
    values = [as_json(value) for value in curve.values[chosen].tolist()]
    return {"tag": tag, "steps": curve.steps[chosen].tolist(), "values": values}
