"""How large updates are beside the weights they change."""

from __future__ import annotations

import statistics

from torch_debugger.records import TensorRows

_LOOKS = 200  # the start of a run tells its learning rate
# More than this is the first update of a weight that started at zero, or no number at all.
_FROM_ZERO = 1e6


class UpdateSizes:
    """The ratio |update| / |weight| over a run: for every look the median over the weights."""

    def __init__(self) -> None:
        self.ratios: list[float] = []
        self.largest = 0.0

    def see(self, rows: TensorRows) -> None:
        if rows.table.kind != "update" or len(self.ratios) >= _LOOKS:
            return
        column = rows.table.columns.index("ratio")
        # A bias starts at or near zero: its first updates are large beside it in any run.
        weights = [index for index, name in enumerate(rows.table.names) if not name.endswith("bias")]
        ratios = [float(rows.values[index, column]) for index in weights]
        known = [ratio for ratio in ratios if ratio <= _FROM_ZERO]
        if known:
            self.ratios.append(statistics.median(known))
            self.largest = max(self.largest, self.ratios[-1])
