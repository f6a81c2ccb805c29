"""Charts of several curves: those of `add_scalars`, and those that a layout of `add_custom_scalars` asks for.

Of one run or of several (`runs`, a list), whose layouts are joined, category by category.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.archive.scalar_charts import ScalarCategory, ScalarChart
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.curves.lists import names_in

_MOST_LINES = 40  # in a chart: more are a blot


def answer(asked: Asked) -> dict[str, Any]:
    runs = names_in(asked.text("runs")) or [asked.text("run")]
    categories: dict[str, ScalarCategory] = {}
    series: dict[str, dict[str, str]] = {}
    tags: dict[str, None] = {}
    for name in runs:
        try:
            own, charts, scalars = asked.shelf.ask(name, _of_run)
        except UsageError:
            if len(runs) == 1:
                raise
            continue
        for category in own:
            known = categories.setdefault(category.title, category)
            known.charts += [chart for chart in category.charts if chart not in known.charts]
        for tag, members in charts.items():
            series.setdefault(tag, {}).update(members)
        tags |= dict.fromkeys(scalars)
    return {
        "series": [{"tag": tag, "lines": _lines(members)} for tag, members in series.items()],
        "categories": [_category(each, list(tags)) for each in categories.values()],
    }


def _of_run(run: Run) -> tuple[list[ScalarCategory], dict[str, dict[str, str]], list[str]]:
    return run.scalar_categories, run.series, run.tags.get("scalars", [])


def _lines(members: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "tag": tag} for name, tag in list(members.items())[:_MOST_LINES]]


def _category(category: ScalarCategory, tags: list[str]) -> dict[str, Any]:
    charts = [_chart(chart, tags) for chart in category.charts]
    return {"title": category.title, "closed": category.closed, "charts": charts}


def _chart(chart: ScalarChart, tags: list[str]) -> dict[str, Any]:
    found = chart.tags_in(tags)
    margins = [
        {"name": margin.value, "tag": margin.value, "lower": margin.lower, "upper": margin.upper}
        for margin in chart.margins
        if margin.value in tags
    ]
    return {
        "title": chart.title,
        "lines": [*({"name": tag, "tag": tag} for tag in found[:_MOST_LINES]), *margins],
        "left_out": max(0, len(found) - _MOST_LINES),
        "asked": [*chart.patterns, *(margin.value for margin in chart.margins)],
    }
