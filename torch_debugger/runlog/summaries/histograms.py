"""A histogram as a HistogramProto, which TensorBoard's histograms and distributions show.

It has no place for values that are NaN or Inf: scalars beside it count them.
"""

from __future__ import annotations

import struct

import numpy as np

from torch_debugger.records import HistogramSummary, UncountedSummary
from torch_debugger.runlog.events import VALUE_SIMPLE
from torch_debugger.runlog.summaries.buckets import histogram_of, measure_values
from torch_debugger.runlog.summaries.values import double_field, event, value
from torch_debugger.runlog.wire import FIXED32, bytes_field, key

_VALUE_HISTOGRAM = 5
_LIMITS, _COUNTS = 6, 7


def histogram_event(record: HistogramSummary) -> bytes:
    numbers = (record.minimum, record.maximum, record.count, record.total, record.squares)
    moments = b"".join(double_field(number, float(one)) for number, one in enumerate(numbers, start=1))
    limits = bytes_field(_LIMITS, np.asarray(record.limits, "<f8").tobytes())
    counts = bytes_field(_COUNTS, np.asarray(record.counts, "<f8").tobytes())
    histogram = value(record.tag, bytes_field(_VALUE_HISTOGRAM, moments, limits, counts))
    missing = {"nan": record.nan, "inf": record.inf}
    return event(
        record, histogram, *(_count(f"{record.tag}/{why}", count) for why, count in missing.items() if count)
    )


def uncounted_event(record: UncountedSummary) -> bytes:
    measured = measure_values(record.values, "tensorflow")
    return histogram_event(histogram_of(measured, record.step, record.time, record.tag, record.max_bins))


def _count(tag: str, count: int) -> bytes:
    return value(tag, key(VALUE_SIMPLE, FIXED32), struct.pack("<f", count))
