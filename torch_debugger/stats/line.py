"""A tensor's numbers in one line of text."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LETTERS = " .:-=+*#@"  # for terminals that know no blocks
_EXACT = 2**53  # whole numbers beyond it are rounded by float64
_WHOLE = ("int", "uint", "bool")


def line_of(stats: Mapping[str, Any]) -> str:
    """'float32 [64, 10] cpu  min -2.3  max 3.02  mean 0.0123  std 0.998  zeros 1.9 %  |▁▂▅█▆▃▁|'"""
    shape = ", ".join(str(size) for size in stats["shape"])
    head = f"{stats['dtype']} [{shape}] {stats['device']}"
    remarks = [*stats["remarks"], "empty"] if 0 in stats["shape"] else stats["remarks"]
    return "  ".join([f"{head} ({', '.join(remarks)})" if remarks else head, *_numbers(stats)])


def _numbers(stats: Mapping[str, Any]) -> list[str]:
    count, whole = stats["count"], stats["dtype"].startswith(_WHOLE)
    if not count:
        return []
    if stats["dtype"] == "bool":
        return [f"true {share_text(count - stats['zeros'], count)}"]
    wrong = [f"{word} {stats[key]:,}" for word, key in (("NaN", "nans"), ("Inf", "infs")) if stats[key]]
    if stats["min"] is None:
        return ["nothing finite", *wrong]
    if count == 1:
        return [f"value {number_text(stats['min'], whole)}"]
    ends = [f"{name} {number_text(stats[name], whole)}" for name in ("min", "max")]
    middle = [f"{name} {number_text(stats[name])}" for name in ("mean", "std")]
    zeros = f"zeros {share_text(stats['zeros'], count)}"
    drawn = [f"|{sketch_text(stats['histogram'])}|"] if stats["histogram"] else []
    return [*ends, *middle, zeros, *wrong, *drawn]


def number_text(value: float, whole: bool = False) -> str:
    return str(int(value)) if whole and abs(value) < _EXACT else f"{value:.4g}"


def share_text(part: int, whole: int) -> str:
    """'0', '1.9 %', 'all'; what is there is never rounded away."""
    if part in (0, whole):
        return "all" if part else "0"
    percent = min(100 * part / whole, 99.9)
    return f"{percent:.{2 if percent < 10 else 3}g} %"


def sketch_text(counts: Sequence[int]) -> str:
    """A histogram of one line: a blank holds nothing, the lowest block at least one."""
    levels = _BLOCKS if blocks_can_be_shown() else _LETTERS
    top = max(counts, default=0) or 1
    steps = len(levels) - 1
    return "".join(levels[-(-each * steps // top)] for each in counts)


def blocks_can_be_shown() -> bool:
    try:
        _BLOCKS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
