"""Meshes and point clouds of `add_mesh`: which there are with their steps or, with name and step, one of them.

`sample` chooses among those that were logged as one batch.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.meshes import mesh_at, mesh_list


def answer(asked: Asked) -> dict[str, Any]:
    name = asked.text("name")
    if not name:
        return asked.of_run(mesh_list)
    step, sample = asked.whole("step", 0), asked.whole("sample", 0)
    return asked.of_run(lambda run: mesh_at(run, name, step, sample))
