"""Which row of a layered drawing each box stands in: below all it is made from, with short lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_SWEEPS = 8


def rows_of(
    count: int, links: Sequence[tuple[int, int]], first: Collection[int], last: Collection[int]
) -> list[int]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in dict.fromkeys(links):
        above[lower].append(upper)
        below[upper].append(lower)
    order = _makers_first(above, below)
    highest = 1 if first else 0
    row = [0] * count
    for index in order:
        floor = 0 if index in first else highest
        row[index] = max([floor, *(row[upper] + 1 for upper in above[index])])
    lowest = max([highest, *(row[index] + 1 for index in order if index not in last)])
    for index in last:
        row[index] = lowest
    pinned = {*first, *last}
    free = [index for index in order if index not in pinned]
    for sweep in range(_SWEEPS):
        for index in free if sweep % 2 else reversed(free):
            row[index] = _nearer(row, index, above[index], below[index], highest)
    return _without_gaps(row)


def _nearer(row: list[int], index: int, above: list[int], below: list[int], highest: int) -> int:
    """Where most of its lines are shortest."""
    top = max([highest, *(row[upper] + 1 for upper in above)])
    bottom = min([row[lower] - 1 for lower in below], default=top)
    if len(below) == len(above):
        return row[index]
    return bottom if len(below) > len(above) else top


def _makers_first(above: list[list[int]], below: list[list[int]]) -> list[int]:
    missing = [len(each) for each in above]
    ready = [index for index, count in enumerate(missing) if not count]
    for index in ready:  # grows while it is walked through
        for lower in below[index]:
            missing[lower] -= 1
            if not missing[lower]:
                ready.append(lower)
    return ready


def _without_gaps(row: list[int]) -> list[int]:
    number = {old: new for new, old in enumerate(sorted(set(row)))}
    return [number[old] for old in row]
