"""The layout of custom scalars, {category: {title: ["Multiline" or "Margin", tags]}}, as charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_debugger.errors import DebuggerError
from torch_debugger.records import Chart

Layout = dict[str, dict[str, Any]]


def charts_of(layout: Layout) -> list[Chart]:
    if not isinstance(layout, Mapping) or not all(isinstance(charts, Mapping) for charts in layout.values()):
        form = '{category: {title: ["Multiline" or "Margin", tags]}}'
        raise DebuggerError(f"expected {form}, got {layout!r}")
    return [
        _chart(category, title, *kind_and_tags)
        for category, charts in layout.items()
        for title, kind_and_tags in charts.items()
    ]


def _chart(category: str, title: str, kind: str, tags: Any) -> Chart:
    margin = kind == "Margin"
    if margin and len(tags) != 3:
        raise DebuggerError(
            f"expected three tags for the margin chart {title!r} (value, lower, upper), got {len(tags)}"
        )
    return Chart(str(category), str(title), tuple(map(str, tags)), margin)
