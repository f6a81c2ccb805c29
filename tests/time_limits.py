"""How long looking at a crash may take: a moment for a user who waits, as long as it needs in tests.

What is said of a crash must not depend on the pace of the machine that runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

A_LONG_TIME_S = 120.0


def lifted() -> Iterator[tuple[Any, str, Any]]:
    """Whose attribute to set to what."""
    from torch_debugger.probes import eager, shape_flow
    from torch_debugger.probes.examiners import (
        autograd_replay,
        cut_replay,
        loading_deaths,
        loading_pickles,
        memory_forecast,
        memory_holders,
    )

    for module in (shape_flow, autograd_replay, cut_replay):
        yield module, "TIME_LIMIT_S", A_LONG_TIME_S
    for module in (eager, memory_forecast):
        yield module, "_TIME_LIMIT_S", A_LONG_TIME_S
    yield loading_pickles, "_BUDGET_S", A_LONG_TIME_S
    yield memory_holders, "_WALK_S", A_LONG_TIME_S
    yield loading_deaths, "_GRACE_S", A_LONG_TIME_S
