"""How long looking at a crash, or the wait for a rehearsal, may take: for users a moment, in tests as it needs.

What is said must not depend on the pace of the machine that runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

A_LONG_TIME_S = 120.0


def lifted() -> Iterator[tuple[Any, str, Any]]:
    """Whose attribute to set to what."""
    from torch_debugger.crashes import autograd_graph as autograd_replay
    from torch_debugger.crashes import autograd_graph as cut_replay
    from torch_debugger.crashes import loading_workers as loading_deaths
    from torch_debugger.crashes import loading_workers as loading_pickles
    from torch_debugger.crashes import memory as memory_forecast
    from torch_debugger.crashes import memory as memory_holders
    from torch_debugger.crashes import replay as eager
    from torch_debugger.crashes import replay as shape_flow
    from torch_debugger.runner import replays as rehearsals

    for module in (shape_flow, autograd_replay, cut_replay):
        yield module, "TIME_LIMIT_S", A_LONG_TIME_S
    for module in (eager, memory_forecast):
        yield module, "_TIME_LIMIT_S", A_LONG_TIME_S
    yield loading_pickles, "_BUDGET_S", A_LONG_TIME_S
    yield memory_holders, "_WALK_S", A_LONG_TIME_S
    yield loading_deaths, "_GRACE_S", A_LONG_TIME_S
    yield rehearsals.Rehearsals, "LAST_WAIT_S", A_LONG_TIME_S
