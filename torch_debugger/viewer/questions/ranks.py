"""The processes of a run side by side: how far each is, how fast, whether they still train one model."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.rank_grid import ranks_of


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(ranks_of)
