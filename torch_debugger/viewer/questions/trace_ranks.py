"""The traces of a distributed training side by side: what each rank computed and communicated in a step."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    """Of all traces that say the same number of ranks as this one, one for each rank: the first, the newest."""
    book = asked.shelf.traces
    chosen = book.find(asked.text("trace")).report
    found = {chosen.rank.rank: chosen}
    for name in book.files:
        trace = book.opened().get(name)
        if trace is not None and trace.report.rank.world_size == chosen.rank.world_size:
            found.setdefault(trace.report.rank.rank, trace.report)
    reports = [found[rank] for rank in sorted(found)] if chosen.rank.world_size > 1 else []
    return {
        "world_size": chosen.rank.world_size,
        "ranks": [dataclasses.asdict(each.rank) for each in reports],
        "collectives": [
            {"rank": each.rank.rank, "steps": max(1, len(each.steps)), **dataclasses.asdict(one)}
            for each in reports or [chosen]
            for one in each.collectives
        ],
    }
