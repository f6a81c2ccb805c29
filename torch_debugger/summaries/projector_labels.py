"""Labels of points as the lines of a table that TensorBoard's projector reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def label_lines(labels: Iterable[Any], header: Sequence[str] | None) -> Iterator[str]:
    """A header needs two columns: of one alone, TensorBoard would take it for the first point's label."""
    if not header:
        yield from (_cell(label) for label in labels)
        return
    columns = len(header)
    if columns > 1:
        yield "\t".join(_cell(name) for name in header)
    for label in labels:
        row = [label] if isinstance(label, str) or not isinstance(label, Iterable) else list(label)
        yield "\t".join(_cell(value) for value in (row + [""] * columns)[:columns])


def _cell(value: Any) -> str:
    """On one line, and never empty: the projector skips empty lines, and all labels behind would be shifted."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a number, not tensor(3)
    text = _BREAKS.sub(" ", str(value))
    return text if text.strip() else "(empty)"
