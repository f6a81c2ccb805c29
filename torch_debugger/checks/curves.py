"""What a loss curve says: where it began, where it is now."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

Points = Sequence[tuple[int, float]]  # (step, loss), finite, oldest first


def start_level(points: Points) -> float:
    """The loss before learning. The smaller of two readings: the first loss may be an odd batch,
    and the median of the first three may already be part of an explosion."""
    first = [value for _, value in points[:3]]
    return min(first[0], statistics.median(first))


def recent_level(points: Points, count: int = 5) -> float:
    return statistics.median(value for _, value in points[-count:])


def fallen_share(points: Points) -> float | None:
    """How much of the loss is gone: 0.5 means halved. None where the curve cannot tell."""
    if len(points) < 6:
        return None
    start = start_level(points)
    return 1.0 - recent_level(points) / start if start > 0 else None
