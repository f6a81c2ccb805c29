"""Several runs without a script: a table, their curves in one drawing each, and what was found in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from torch_debugger.archive.curve import Curve
from torch_debugger.archive.run import Run
from torch_debugger.report import sentences
from torch_debugger.report.result import RunResult
from torch_debugger.viewer.how_it_was_run import hparam_rows
from torch_debugger.viewer.kept_code import kept_code
from torch_debugger.viewer.still.curve import (
    HEIGHT,
    WIDTH,
    axis_of,
    columns_of,
    height_labels,
    line_of,
    step_labels,
)
from torch_debugger.viewer.still.findings import chapter_section, prose
from torch_debugger.viewer.still.markup import Markup, element, together
from torch_debugger.viewer.still.told import told_result

_MOST_CURVES = 12
_MOST_LINES = 12  # in one drawing
_MOST_HPARAMS = 8
_COLOURS = 8  # as many as still.css has


def still_several(runs: Sequence[Run]) -> Markup:
    results = [told_result(run) for run in runs]
    return element(
        "main",
        element("p", "torch-debugger report", class_="quiet still-kicker"),
        element("h1", f"{len(runs)} runs compared"),
        _table(runs, results),
        _curves(runs),
        element("h2", "What was found"),
        *(_found(run, result) for run, result in zip(runs, results, strict=True)),
        class_="still",
    )


def _table(runs: Sequence[Run], results: Sequence[RunResult]) -> Markup:
    hparams = [dict(hparam_rows(run)) for run in runs]
    differing = _differing(hparams)
    heads = ["run", "status", "steps", "last loss", "verdict", *differing]
    rows = []
    for place, (run, result) in enumerate(zip(runs, results, strict=True)):
        loss = sentences.number(result.losses.last[1]) if result.losses is not None else ""
        verdict = result.verdict.name if result.verdict is not None else ""
        cells = [
            run.status,
            f"{run.steps:,}",
            loss,
            verdict,
            *(hparams[place].get(key, "") for key in differing),
        ]
        head = element("th", _swatch(place) if place < _MOST_LINES else None, run.name, scope="row")
        rows.append(element("tr", head, *(element("td", cell) for cell in cells)))
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in heads)))
    return element("table", head, element("tbody", *rows), class_="still-table still-runs")


def _differing(hparams: Sequence[Mapping[str, str]]) -> list[str]:
    """Those in which the runs differ; one that some of them lack differs too."""
    every = dict.fromkeys(key for told in hparams for key in told)
    return [key for key in every if len({told.get(key) for told in hparams}) > 1][:_MOST_HPARAMS]


def _curves(runs: Sequence[Run]) -> Markup | None:
    """The loss first, then what at least two of the runs have."""
    owners: dict[str, list[int]] = {}
    losses = {place: run.loss_tag for place, run in enumerate(runs[:_MOST_LINES]) if run.loss_tag}
    for place, run in enumerate(runs[:_MOST_LINES]):
        for tag in run.tags.get("scalars", []):
            if tag != losses.get(place):
                owners.setdefault(tag, []).append(place)
    shared = [tag for tag, places in owners.items() if len(places) > 1]
    drawn = (
        [_figure("loss", {place: runs[place].scalars(tag) for place, tag in losses.items()})] if losses else []
    )
    drawn += [_figure(tag, {at: runs[at].scalars(tag) for at in owners[tag]}) for tag in shared[:_MOST_CURVES]]
    if not drawn:
        return None
    left_out = [f"{len(shared) - _MOST_CURVES:,} more curves"] if len(shared) > _MOST_CURVES else []
    left_out += [f"the curves of {len(runs) - _MOST_LINES:,} more runs"] if len(runs) > _MOST_LINES else []
    said = element("p", f"Not drawn here: {', '.join(left_out)}.", class_="quiet") if left_out else None
    grid = element("div", *drawn[1:], class_="still-grid")
    return element(
        "section", element("h2", "Curves"), element("div", drawn[0], class_="still-loss"), grid, said
    )


def _figure(tag: str, curves: Mapping[int, Curve]) -> Markup:
    """One line a run, in its colour, over the same steps and the same heights."""
    known = {place: curve for place, curve in curves.items() if len(curve)}
    first = min((int(curve.steps.min()) for curve in known.values()), default=0)
    last = max((int(curve.steps.max()) for curve in known.values()), default=0)
    columns = {place: columns_of(curve, first, last) for place, curve in known.items()}
    finite = {place: each.lowest <= each.highest for place, each in columns.items()}
    lows = [each.lowest[finite[place]] for place, each in columns.items()]
    highs = [each.highest[finite[place]] for place, each in columns.items()]
    axis = axis_of(np.concatenate([*lows, np.empty(0)]), np.concatenate([*highs, np.empty(0)]))
    lines = [
        element("path", d=line_of(each, finite[place], axis), class_=f"still-line still-run-{place % _COLOURS}")
        for place, each in columns.items()
    ]
    drawing = element(
        "svg",
        *lines,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{tag} of {len(known)} runs",
    )
    plot = element("div", height_labels(axis), drawing, step_labels(first, last), class_="still-plot")
    return element("figure", element("figcaption", element("b", tag)), plot, class_="still-curve")


def _swatch(place: int) -> Markup:
    line = element("path", d="M0 6h12", class_=f"still-line still-run-{place % _COLOURS}")
    return element("svg", line, viewBox="0 0 12 12", aria_hidden="true", class_="still-swatch")


def _found(run: Run, result: RunResult) -> Markup:
    said = element("p", prose(sentences.run_sentence(result)))
    shown = [chapter_section(chapter, result, kept_code(run), "h4") for chapter in result.chapters[:1]]
    nothing = None if shown else element("p", "No finding.", class_="quiet")
    return element("section", element("h3", run.name), said, together(*shown), nothing)
