"""An array for whichever plugin it names."""

from __future__ import annotations

from torch_debugger.records import TensorSummary
from torch_debugger.runlog.summaries.values import array_tensor, event, metadata, value


def tensor_event(record: TensorSummary) -> bytes:
    whose = metadata(record.plugin, record.content, record.display_name, record.description)
    return event(record, value(record.tag, whose, array_tensor(record.values)))
