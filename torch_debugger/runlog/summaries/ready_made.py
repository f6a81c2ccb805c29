"""An event around a Summary that somebody else has made."""

from __future__ import annotations

from torch_debugger.runlog.events import EVENT_STEP, EVENT_SUMMARY, event_time
from torch_debugger.runlog.wire import bytes_field, number_field


def event_around(summary: bytes, step: int, time: float) -> bytes:
    return event_time(time) + number_field(EVENT_STEP, step) + bytes_field(EVENT_SUMMARY, summary)
