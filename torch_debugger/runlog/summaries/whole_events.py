"""Events that hold no summary: graphs, the start of a session, and what a script made itself."""

from __future__ import annotations

from torch_debugger.records import ForeignEvent, GraphSummary, SessionStart
from torch_debugger.runlog.events import EVENT_STEP, EVENT_VERSION, event_time
from torch_debugger.runlog.wire import bytes_field, number_field

_EVENT_GRAPH, _EVENT_SESSION = 4, 7
_SESSION_STATUS, _STATUS_START = 1, 1


def graph_event(record: GraphSummary) -> bytes:
    return event_time(record.time) + bytes_field(_EVENT_GRAPH, record.graph)


def session_events(record: SessionStart) -> list[bytes]:
    """TensorBoard forgets what lies at or behind the step of the second; older ones look for the first."""
    when = event_time(record.time) + number_field(EVENT_STEP, record.step)
    started = bytes_field(_EVENT_SESSION, number_field(_SESSION_STATUS, _STATUS_START))
    return [when + bytes_field(EVENT_VERSION, b"brain.Event:2"), when + started]


def foreign_event(record: ForeignEvent) -> bytes:
    return record.event
