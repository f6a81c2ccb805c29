"""Tables of layers as a few series a tracker can draw: per tensor while they are few, else their spread."""

from __future__ import annotations

import math
import statistics

from torch_debugger.records import Table, TensorRows

# Of the numbers in a table the ones whose curves say most: dying, exploding, too large a step.
_TELLING = {
    "parameter": ("grad_norm",),
    "update": ("ratio",),
    "activation": ("std", "zeros"),
    "output_gradient": ("std",),
}
_MOST_SERIES = 300  # of all tables together: a page with more of them is read by nobody


class LayerSeries:
    """The series of one run. A table whose tensors do not fit any more gives lowest, median and highest."""

    def __init__(self) -> None:
        self._whole: dict[Table, bool] = {}
        self._series = 0

    def values(self, rows: TensorRows) -> dict[str, float]:
        """net.0.weight of update.ratio -> {"update_ratio/net.0.weight": 0.001}; unknown ones are left out."""
        found: dict[str, float] = {}
        for column in _TELLING.get(rows.table.kind, ()):
            if column in rows.table.columns:
                found |= self._of_column(rows, column)
        return found

    def _of_column(self, rows: TensorRows, column: str) -> dict[str, float]:
        heading = f"{rows.table.kind}_{column}"
        by_name = rows.by_name(column)
        if self._is_whole(rows.table):
            return {f"{heading}/{name}": value for name, value in by_name.items() if not math.isnan(value)}
        known = [value for value in by_name.values() if not math.isnan(value)]
        if not known:
            return {}
        spread = {"lowest": min(known), "median": statistics.median(known), "highest": max(known)}
        return {f"{heading} of {rows.table.root}/{which}": value for which, value in spread.items()}

    def _is_whole(self, table: Table) -> bool:
        if table not in self._whole:
            wanted = len(table.names) * len(_TELLING[table.kind])
            self._whole[table] = self._series + wanted <= _MOST_SERIES
            self._series += wanted if self._whole[table] else 0
        return self._whole[table]
