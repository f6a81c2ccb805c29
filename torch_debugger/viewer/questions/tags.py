"""The scalars of a run by name, and what can stand below them."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.curves.axes import NAMES, kinds_of


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(_tags)


def _tags(run: Run) -> dict[str, Any]:
    return {
        "tags": run.tags.get("scalars", []),
        "loss": run.loss_tag,
        "axes": [{"kind": kind, "name": NAMES[kind]} for kind in kinds_of(run)],
    }
