"""Where in a run something was found: the steps to mark in its curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from torch_debugger.archive.curve import Curve
from torch_debugger.archive.run import Run
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.curves.axes import maker_of

_MOST = 20


def answer(asked: Asked) -> dict[str, Any]:
    kind = asked.text("x", "step")
    return asked.of_run(lambda run: {"marks": _marks(run, kind)})


def _marks(run: Run, kind: str) -> list[dict[str, Any]]:
    told = [each for each in run.findings if each.severity != "note" and each.first_step is not None][:_MOST]
    steps = np.array([each.first_step for each in told], np.int64)
    return [
        {"x": x, "step": each.first_step, "name": each.name, "severity": each.severity, "message": each.message}
        for x, each in zip(_along(run, kind, steps), told, strict=True)
    ]


def _along(run: Run, kind: str, steps: Any) -> list[float]:
    """Where these steps are on the axis; a step's time is that of the loss, or of the first tag there is."""
    tag = run.loss_tag or next(iter(run.tags.get("scalars", [])), None)
    if tag is None or not len(steps):
        return [float(step) for step in steps]
    curve = run.scalars(tag)
    order = np.argsort(curve.steps, kind="stable")
    times = np.interp(steps, curve.steps[order], curve.times[order])
    x: list[float] = maker_of(run, kind)(Curve(steps, np.zeros(len(steps)), times)).tolist()
    return x
