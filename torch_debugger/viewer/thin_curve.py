"""One curve with as many points as a small picture shows."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.viewer.grids import as_json, thinned


def thin_curve(run: Run, tag: str) -> dict[str, Any]:
    curve = run.scalars(tag)
    chosen = thinned(curve.values)
    return {
        "tag": tag,
        "steps": curve.steps[chosen].tolist(),
        "values": [as_json(value) for value in curve.values[chosen].tolist()],
        "all_points": len(curve.values),
    }
