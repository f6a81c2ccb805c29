"""A text, which TensorBoard's text tab shows as Markdown; secrets in it are not written."""

from __future__ import annotations

from torch_debugger.records import TextSummary
from torch_debugger.redaction import redact_text
from torch_debugger.runlog.events import text
from torch_debugger.runlog.summaries.values import bytes_tensor, event, metadata, value

_TAG_END = "/text_summary"  # part of every text's tag, since TensorBoard's first text plugin


def text_event(record: TextSummary) -> bytes:
    tensor = bytes_tensor(text(redact_text(record.text)), shape=(1,))
    return event(record, value(record.tag + _TAG_END, metadata("text"), tensor))
