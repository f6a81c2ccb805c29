"""A precision-recall curve, which TensorBoard's PR curves tab shows."""

from __future__ import annotations

import numpy as np

from torch_debugger.records import PrCurveSummary
from torch_debugger.runlog.summaries.values import array_tensor, event, metadata, value
from torch_debugger.runlog.wire import number_field

_THRESHOLDS = 2


def pr_curve_event(record: PrCurveSummary) -> bytes:
    whose = metadata("pr_curves", number_field(_THRESHOLDS, record.thresholds))
    return event(record, value(record.tag, whose, array_tensor(record.curve.astype(np.float32))))
