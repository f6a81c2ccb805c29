"""The layout of `add_custom_scalars`: categories of charts, each with the curves that belong into it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from torch_debugger.archive import numbers, parsing
from torch_debugger.archive.parsing import Value
from torch_debugger.archive.tensors import read_strings
from torch_debugger.runlog.wire import fields, message

KIND = "custom_scalars"


@dataclass(frozen=True, slots=True)
class Margin:
    """The tags of a value and of the band around it."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class ScalarChart:
    title: str
    patterns: tuple[str, ...] = ()  # regular expressions that a tag begins with
    margins: tuple[Margin, ...] = ()

    def tags_in(self, tags: Sequence[str]) -> list[str]:
        """Those that belong into it, in the order of the patterns; one that is no pattern is a plain name."""
        found = [tag for pattern in self.patterns for tag in tags if _fits(pattern, tag)]
        return list(dict.fromkeys(found))


@dataclass(slots=True)
class ScalarCategory:
    title: str
    closed: bool = False
    charts: list[ScalarChart] = field(default_factory=list)


def scalar_charts(values: Iterable[Value]) -> list[ScalarCategory]:
    """Of all layouts, one after the other: a writer that adds chart by chart writes one for each."""
    merged: dict[str, ScalarCategory] = {}
    for value in values:
        with suppress(*parsing.FOREIGN):
            for layout in read_strings(value.body):
                for category in list(_categories(layout)):
                    known = merged.setdefault(category.title, category)
                    known.charts += [chart for chart in category.charts if chart not in known.charts]
    return list(merged.values())


def _fits(pattern: str, tag: str) -> bool:
    try:
        return re.match(pattern, tag) is not None
    except re.error:
        return pattern == tag


def _categories(layout: bytes) -> Iterator[ScalarCategory]:
    for each in _messages(layout, numbers.LAYOUT_CATEGORY):
        parts = message(each)
        charts = [_chart(chart) for chart in _messages(each, numbers.CATEGORY_CHART)]
        closed = bool(parts.get(numbers.CATEGORY_CLOSED, 0))
        yield ScalarCategory(_text(parts.get(numbers.CATEGORY_TITLE, b"")), closed, charts)


def _chart(chart: bytes) -> ScalarChart:
    parts = message(chart)
    lines = _messages(parts.get(numbers.CHART_LINES, b""), numbers.LINES_TAG)
    margins = _messages(parts.get(numbers.CHART_MARGIN, b""), numbers.MARGIN_SERIES)
    return ScalarChart(
        _text(parts.get(numbers.CHART_TITLE, b"")), tuple(map(_text, lines)), tuple(map(_margin, margins))
    )


def _margin(series: bytes) -> Margin:
    parts = message(series)
    names = (numbers.SERIES_VALUE, numbers.SERIES_LOWER, numbers.SERIES_UPPER)
    value, lower, upper = (_text(parts.get(number, b"")) for number in names)
    return Margin(value, lower, upper)


def _messages(data: bytes, number: int) -> list[bytes]:
    return [value for each, value in fields(data) if each == number and isinstance(value, bytes)]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
