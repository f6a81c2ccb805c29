"""What has changed from one trace of torch.profiler to another, in a step and by operator."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch_debugger.report.trace_difference import difference
from torch_debugger.viewer.asked import Asked

_MOST = 300


def answer(asked: Asked) -> dict[str, Any]:
    book = asked.shelf.traces
    before, after = book.find(asked.text("before")), book.find(asked.text("after"))
    found = difference(before.report, after.report)
    plain = dataclasses.asdict(found)
    return plain | {"ops": plain["ops"][:_MOST], "kernels": plain["kernels"][:_MOST]}
