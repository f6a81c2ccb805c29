"""Events that hold no summary of ours: graphs, and what a script made itself."""

from __future__ import annotations

from torch_debugger.records import ForeignEvent, GraphSummary
from torch_debugger.runlog.events import event_time
from torch_debugger.runlog.wire import bytes_field

_EVENT_GRAPH = 4


def graph_event(record: GraphSummary) -> bytes:
    return event_time(record.time) + bytes_field(_EVENT_GRAPH, record.graph)


def foreign_event(record: ForeignEvent) -> bytes:
    return record.event
