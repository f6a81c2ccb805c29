"""One event, field by field: the slow and obvious way, for whatever the columns do not recognise."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from torch_debugger.archive import numbers
from torch_debugger.archive.tensors import read_single
from torch_debugger.runlog import events
from torch_debugger.runlog.wire import fields, message, signed

SCALARS, HISTOGRAMS, PICTURES, TEXTS, SOUNDS, TENSORS = (
    "scalars", "histograms", "pictures", "texts", "sounds", "tensors",
)  # fmt: skip
GRAPHS, MESHES = "graphs", "mesh"
RECORDS, ROWS = "records", "rows"  # our own
_FORMS = {
    numbers.VALUE_IMAGE: PICTURES,
    numbers.VALUE_HISTOGRAM: HISTOGRAMS,
    numbers.VALUE_SOUND: SOUNDS,
    events.VALUE_TENSOR: TENSORS,
}
_PLUGINS = {"scalars": SCALARS, "histograms": HISTOGRAMS, "images": PICTURES, "text": TEXTS, "audio": SOUNDS}

# What an event raises whose frame is sound and whose content is something else.
FOREIGN = (ValueError, TypeError, KeyError, AttributeError, struct.error, OverflowError, RecursionError)


class Value(NamedTuple):
    """One tag of a summary."""

    tag: str
    kind: str
    number: float  # of a scalar
    form: int  # the field that holds the body
    body: bytes
    plugin_content: bytes


class Event(NamedTuple):
    step: int
    time: float
    values: list[Value]
    starts_session: bool


class EventParser:
    """Remembers whose tags are: writers say it in a tag's first event only."""

    def __init__(self) -> None:
        self._plugins: dict[str, str] = {}

    def parse(self, payload: bytes) -> Event:
        """Raises one of FOREIGN for what is no event."""
        parts = message(payload)
        step = signed(parts.get(events.EVENT_STEP, 0))
        (time,) = struct.unpack("<d", parts.get(events.EVENT_TIME, bytes(8)))
        summary = fields(parts.get(events.EVENT_SUMMARY, b""))
        values = [self._value(body) for number, body in summary if number == events.SUMMARY_VALUE]
        return Event(step, time, values + _graph(parts), _starts_session(parts))

    def _value(self, data: bytes) -> Value:
        parts = message(data)
        # Bytes that are no text are kept apart from one another, whatever they are.
        tag = parts.get(events.VALUE_TAG, b"").decode("utf-8", "surrogateescape")
        if events.VALUE_SIMPLE in parts:
            (number,) = struct.unpack("<f", parts[events.VALUE_SIMPLE])
            return Value(tag, SCALARS, number, events.VALUE_SIMPLE, b"", b"")
        form = next((form for form in _FORMS if form in parts), 0)
        body = parts.get(form, b"")
        content = self._learn_plugin(tag, parts)
        if form == events.VALUE_TENSOR:
            return self._tensor(tag, body, content)
        kind = _FORMS.get(form) or self._plugins.get(tag, TENSORS)
        return Value(tag, kind, 0.0, form, body, content)

    def _tensor(self, tag: str, body: bytes, content: bytes) -> Value:
        plugin = self._plugins.get(tag, "")
        number = None
        if tag.startswith(events.ROWS_TAG):
            kind = ROWS
        elif tag.startswith(events.RECORD_TAG):
            kind = RECORDS
        else:
            number = read_single(body) if plugin in ("scalars", "") else None
            kind = SCALARS if number is not None else _PLUGINS.get(plugin, plugin or TENSORS)
            kind = TENSORS if kind == SCALARS and number is None else kind
        return Value(tag, kind, 0.0 if number is None else number, events.VALUE_TENSOR, body, content)

    def _learn_plugin(self, tag: str, parts: dict[int, Any]) -> bytes:
        metadata = message(parts.get(events.VALUE_METADATA, b""))
        plugin = message(metadata.get(events.METADATA_PLUGIN, b""))
        if events.PLUGIN_NAME in plugin:
            self._plugins[tag] = plugin[events.PLUGIN_NAME].decode("utf-8", "replace")
        content: bytes = plugin.get(events.PLUGIN_CONTENT, b"")
        return content


def _graph(parts: dict[int, Any]) -> list[Value]:
    """A graph has no tag of its own."""
    graph = parts.get(numbers.EVENT_GRAPH)
    if graph is None and numbers.EVENT_META_GRAPH in parts:
        graph = message(parts[numbers.EVENT_META_GRAPH]).get(numbers.META_GRAPH_GRAPH)
    return [] if graph is None else [Value("graph", GRAPHS, 0.0, numbers.EVENT_GRAPH, graph, b"")]


def _starts_session(parts: dict[int, Any]) -> bool:
    session = message(parts.get(numbers.EVENT_SESSION, b""))
    return bool(session.get(numbers.SESSION_STATUS) == numbers.SESSION_START)
