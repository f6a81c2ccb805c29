"""Labels and predictions to a precision-recall curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.arrays import as_array

MOST_THRESHOLDS = 127  # as TensorBoard's own writers have it
_LEAST = 1e-7  # keeps a division by zero away


def pr_curve(labels: Any, predictions: Any, thresholds: int, weights: Any) -> NDArray[np.float32]:
    """[6, thresholds]: true and false positives, true and false negatives, precision and recall."""
    truth = as_array(labels).astype(np.float64).reshape(-1)
    scores = as_array(predictions).astype(np.float64).reshape(-1)
    if truth.shape != scores.shape:
        raise DebuggerError(f"expected a prediction for each label, got {len(scores)} for {len(truth)} labels")
    weight = np.broadcast_to(
        1.0 if weights is None else as_array(weights).astype(np.float64).reshape(-1), truth.shape
    )
    known = (scores >= 0) & (scores <= 1)  # NaN is not
    places = np.floor(scores[known] * (thresholds - 1)).astype(np.int64)
    positives = np.bincount(places, (truth * weight)[known], thresholds)
    negatives = np.bincount(places, ((1 - truth) * weight)[known], thresholds)
    above, wrongly_above = positives[::-1].cumsum()[::-1], negatives[::-1].cumsum()[::-1]
    missed = above[0] - above
    precision = above / np.maximum(_LEAST, above + wrongly_above)
    recall = above / np.maximum(_LEAST, above + missed)
    rows = (above, wrongly_above, wrongly_above[0] - wrongly_above, missed, precision, recall)
    return np.stack(rows).astype(np.float32)


def raw_pr_curve(rows: dict[str, Any]) -> NDArray[np.float32]:
    arrays = {name: as_array(row).astype(np.float32).reshape(-1) for name, row in rows.items()}
    sizes = {name: len(row) for name, row in arrays.items()}
    if len(set(sizes.values())) != 1:
        raise DebuggerError(f"expected as many numbers in each, one for each threshold; got {sizes}")
    return np.stack(list(arrays.values()))
