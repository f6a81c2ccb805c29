"""A histogram as a HistogramProto, which TensorBoard's histograms and distributions show."""

from __future__ import annotations

import numpy as np

from torch_debugger.records import HistogramSummary
from torch_debugger.runlog.summaries.values import double_field, event, value
from torch_debugger.runlog.wire import bytes_field

_VALUE_HISTOGRAM = 5
_LIMITS, _COUNTS = 6, 7


def histogram_event(record: HistogramSummary) -> bytes:
    numbers = (record.minimum, record.maximum, record.count, record.total, record.squares)
    moments = b"".join(double_field(number, float(one)) for number, one in enumerate(numbers, start=1))
    limits = bytes_field(_LIMITS, np.asarray(record.limits, "<f8").tobytes())
    counts = bytes_field(_COUNTS, np.asarray(record.counts, "<f8").tobytes())
    return event(record, value(record.tag, bytes_field(_VALUE_HISTOGRAM, moments, limits, counts)))
