"""Which tensor rows a log keeps as it fills: all, then every second, then every fourth, ..."""

from __future__ import annotations

from collections import Counter

_MOST_DOUBLINGS = 20


class Thinning:
    """Every time half of the room that was left is used, the stride between kept rows doubles, so that
    rows alone never reach the limit. Row 0 of every table is kept: it carries the table's heading."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._seen: Counter[int] = Counter()
        self.stride = 1

    def keep(self, table: int) -> bool:
        count = self._seen[table]
        self._seen[table] += 1
        return count % self.stride == 0

    def update(self, used_bytes: int) -> str | None:
        """A sentence for the log when the stride has grown."""
        stride = self._stride_at(used_bytes)
        if stride <= self.stride:
            return None
        self.stride = stride
        return (
            f"The log has used {used_bytes / 1e6:.3g} MB of its limit of {self._limit_bytes / 1e6:.3g} MB: "
            f"from here on one of {stride} rows of layer statistics is kept; scalars and all other records "
            "are kept whole. Raise --log-limit to keep more."
        )

    def _stride_at(self, used_bytes: int) -> int:
        room = 1.0 - used_bytes / self._limit_bytes
        doublings = 0
        while doublings < _MOST_DOUBLINGS and room <= 0.5 ** (doublings + 1):
            doublings += 1
        return int(2**doublings)
