"""Where a run's time and memory went, as far as it was recorded."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.step_times import timing_of


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(timing_of)
