"""Which curves belong together, for TensorBoard's custom scalars tab."""

from __future__ import annotations

from torch_debugger.records import Chart, ChartsSummary
from torch_debugger.runlog.events import text
from torch_debugger.runlog.summaries.values import bytes_tensor, event, metadata, value
from torch_debugger.runlog.wire import bytes_field

TAG = "custom_scalars__config__"
_LAYOUT_CATEGORY = 2
_CATEGORY_TITLE, _CATEGORY_CHART = 1, 2
_CHART_TITLE, _CHART_LINES, _CHART_MARGIN = 1, 2, 3
_LINES_TAG, _MARGIN_SERIES = 1, 1


def charts_event(record: ChartsSummary) -> bytes:
    categories: dict[str, list[bytes]] = {}
    for chart in record.charts:
        categories.setdefault(chart.category, []).append(bytes_field(_CATEGORY_CHART, _chart(chart)))
    layout = b"".join(
        bytes_field(_LAYOUT_CATEGORY, bytes_field(_CATEGORY_TITLE, text(title)), *charts)
        for title, charts in categories.items()
    )
    return event(record, value(TAG, metadata("custom_scalars"), bytes_tensor(layout)))


def _chart(chart: Chart) -> bytes:
    title = bytes_field(_CHART_TITLE, text(chart.title))
    if not chart.margin:
        return title + bytes_field(_CHART_LINES, *(bytes_field(_LINES_TAG, text(tag)) for tag in chart.tags))
    series = (bytes_field(number, text(tag)) for number, tag in enumerate(chart.tags, start=1))
    return title + bytes_field(_CHART_MARGIN, bytes_field(_MARGIN_SERIES, *series))
