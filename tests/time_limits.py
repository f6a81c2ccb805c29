"""How long looking at a crash, or the wait for a rehearsal, may take: for users a moment, in tests as it needs.

What is said must not depend on the pace of the machine that runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

A_LONG_TIME_S = 120.0


def lifted() -> Iterator[tuple[Any, str, Any]]:
    """Whose attribute to set to what."""
    from torch_debugger import rehearsals
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
    yield rehearsals.Rehearsals, "LAST_WAIT_S", A_LONG_TIME_S
