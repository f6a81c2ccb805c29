"""What the report shows without a script: the verdict, all findings, the facts, curves and layers.

Everything here is made from the run itself, and what came from the run is text (`markup`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files

import numpy as np

from torch_debugger.log.curves import Curve
from torch_debugger.log.run import Run
from torch_debugger.records import Edit, Finding
from torch_debugger.report import sentences
from torch_debugger.report.result import Chapter, RunResult
from torch_debugger.report.text import diff_lines
from torch_debugger.viewer.about import how_it_was_run, hparam_rows
from torch_debugger.viewer.report_figures import (
    HEIGHT,
    WIDTH,
    Markup,
    axis_of,
    columns_of,
    curve_figure,
    element,
    height_labels,
    layer_figures,
    line_of,
    step_labels,
    together,
)
from torch_debugger.viewer.verdict import KeptCode, kept_code, redacted_result

_MOST_CURVES = 24
_MOST_FINDINGS = 200


def still_page(run: Run) -> Markup:
    result, code = redacted_result(run), kept_code(run)
    layers, hparams = layer_figures(run), hparam_rows(run)
    facts = [*_of_the_run(run, result), *how_it_was_run(run), *_said(run, result)]
    return element(
        "main",
        element("p", "torch-debugger report", class_="quiet still-kicker"),
        element("h1", run.name),
        element("p", prose(_lead(run, result)), class_="still-lead"),
        *_findings(result, code, first=True),
        _loss(run, result),
        *_findings(result, code, first=False),
        _curves(run),
        element("section", element("h2", "Layers"), *layers) if layers else None,
        element("h2", "Facts"),
        _facts_table("The run", facts),
        _facts_table("Hyperparameters", hparams) if hparams else None,
        element("noscript", element("p", _WITHOUT_SCRIPT, class_="quiet")),
        class_="still",
    )


def still_style() -> str:
    return (files("torch_debugger.viewer") / "report_page.css").read_text("utf-8")


_WITHOUT_SCRIPT = "With JavaScript this file is the whole page of the run: curves to zoom into, layers, the model."


def _lead(run: Run, result: RunResult) -> str:
    said = sentences.run_sentence(result)
    if not run.is_watched:
        return f"The log of another tool, up to step {run.steps:,}. torch-debugger did not watch this run."
    if result.verdict is not None:
        return said
    if run.status in ("crashed", "killed"):
        return f"{said} No check recognised the cause."
    if run.status == "finished" and not run.steps:
        return f"{said} {sentences.without_a_step(result)}".rstrip()
    return f"Nothing wrong {'so far' if run.status == 'running' else 'was found'}. {said}"


def _findings(result: RunResult, code: KeptCode, *, first: bool) -> list[Markup]:
    """The verdict, or all the others."""
    count = 1 if result.verdict is not None else 0
    if first:
        return [chapter_section(chapter, result, code, "h2") for chapter in result.chapters[:count]]
    others = [chapter_section(chapter, result, code) for chapter in result.chapters[count:_MOST_FINDINGS]]
    more = len(result.chapters) - _MOST_FINDINGS
    left_out = [element("p", f"{more:,} more findings are not told here.")] if more > 0 else []
    return [element("h2", "Other findings" if count else "Findings"), *others, *left_out] if others else []


def _loss(run: Run, result: RunResult) -> Markup | None:
    if run.loss_tag is None:
        return None
    steps = [result.verdict.first_step] if result.verdict is not None else []
    note = "The dashed line is where the verdict begins." if any(steps) else ""
    figure = curve_figure(run.loss_tag, run.scalars(run.loss_tag), steps)
    words = element("p", note, class_="quiet") if note else None
    return element("section", element("h2", "Loss"), figure, words, class_="still-loss")


def _curves(run: Run) -> Markup | None:
    tags = [tag for tag in run.tags.get("scalars", []) if tag != run.loss_tag]
    if not tags:
        return None
    figures = [curve_figure(tag, run.scalars(tag)) for tag in tags[:_MOST_CURVES]]
    more = len(tags) - _MOST_CURVES
    left_out = element("p", f"{more:,} more curves are not drawn here.", class_="quiet") if more > 0 else None
    return element("section", element("h2", "Curves"), element("div", *figures, class_="still-grid"), left_out)


# Several runs without a script: a table, their curves in one drawing each, and what was found in each.
_MOST_SHARED_CURVES = 12
_MOST_LINES = 12  # in one drawing
_MOST_HPARAMS = 8
_COLOURS = 8  # as many as report_page.css has


def still_several(runs: Sequence[Run]) -> Markup:
    results = [redacted_result(run) for run in runs]
    return element(
        "main",
        element("p", "torch-debugger report", class_="quiet still-kicker"),
        element("h1", f"{len(runs)} runs compared"),
        _table(runs, results),
        _shared_curves(runs),
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
    every = dict.fromkeys(key for settings in hparams for key in settings)
    return [key for key in every if len({settings.get(key) for settings in hparams}) > 1][:_MOST_HPARAMS]


def _shared_curves(runs: Sequence[Run]) -> Markup | None:
    """The loss first, then what at least two of the runs have."""
    owners: dict[str, list[int]] = {}
    losses = {place: run.loss_tag for place, run in enumerate(runs[:_MOST_LINES]) if run.loss_tag}
    for place, run in enumerate(runs[:_MOST_LINES]):
        for tag in run.tags.get("scalars", []):
            if tag != losses.get(place):
                owners.setdefault(tag, []).append(place)
    shared = [tag for tag, places in owners.items() if len(places) > 1]
    drawn = [_figure("loss", {place: runs[place].scalars(tag) for place, tag in losses.items()})] if losses else []
    drawn += [_figure(tag, {at: runs[at].scalars(tag) for at in owners[tag]}) for tag in shared[:_MOST_SHARED_CURVES]]
    if not drawn:
        return None
    left_out = [f"{len(shared) - _MOST_SHARED_CURVES:,} more curves"] if len(shared) > _MOST_SHARED_CURVES else []
    left_out += [f"the curves of {len(runs) - _MOST_LINES:,} more runs"] if len(runs) > _MOST_LINES else []
    said = element("p", f"Not drawn here: {', '.join(left_out)}.", class_="quiet") if left_out else None
    grid = element("div", *drawn[1:], class_="still-grid")
    return element("section", element("h2", "Curves"), element("div", drawn[0], class_="still-loss"), grid, said)


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


# Findings on paper: what, where, the line itself, the numbers, why, and the edit.
_MARKS = {"-": "removed", "+": "added", " ": None}


def chapter_section(chapter: Chapter, result: RunResult, code: KeptCode, level: str = "h3") -> Markup:
    finding = chapter.cause
    return element(
        "section",
        _heading(finding, level),
        element("p", prose(sentences.shown_sentence(finding.message, result)), class_="still-message"),
        element("p", sentences.where(finding, result), class_="quiet still-where"),
        _code(code.excerpt(finding.where, finding.edit)),
        _evidence(finding),
        _labelled("Why", finding.why, result),
        _labelled("Fix", finding.fix, result),
        _diff(finding.edit, result) if finding.edit else None,
        _explains(chapter),
        class_=f"still-finding still-{finding.severity}",
    )


def prose(sentence: str) -> Markup:
    """`code` between backticks is set as code."""
    parts = re.split(r"`([^`]+)`", sentence)
    return together(*(element("code", part) if place % 2 else part for place, part in enumerate(parts)))


def _heading(finding: Finding, level: str) -> Markup:
    details = ", ".join(part for part in (finding.check, sentences.certainty(finding)) if part)
    badge = element("span", finding.severity, class_="still-badge")
    return element(level, badge, " ", finding.name, " ", element("span", details, class_="quiet still-aside"))


def _labelled(label: str, sentence: str, result: RunResult) -> Markup | None:
    text = sentences.shown_sentence(sentence, result)
    return element("p", element("b", f"{label}: "), prose(text)) if text else None


def _evidence(finding: Finding) -> Markup | None:
    rows = [
        element("tr", element("th", key.replace("_", " "), scope="row"), element("td", sentences.number(value)))
        for key, value in finding.evidence.items()
    ]
    caption = element("caption", "The numbers behind it")
    return element("table", caption, element("tbody", *rows), class_="still-table") if rows else None


def _code(lines: list[dict[str, object]]) -> Markup | None:
    if not lines:
        return None
    digits = len(str(lines[-1]["number"]))
    shown = [
        element(
            "span",
            f"{'>' if line['marked'] else ' '} {line['number']:>{digits}} | {line['text']}",
            class_="still-marked" if line["marked"] else None,
        )
        for line in lines
    ]
    return element("pre", together(*shown, between="\n"), tabindex="0", aria_label="The code around it")


def _diff(edit: Edit, result: RunResult) -> Markup:
    place = element("span", sentences.edit_place(edit, result), class_="quiet")
    lines = [element("span", f"{mark} {text}".rstrip(), class_=_MARKS[mark]) for mark, text in diff_lines(edit)]
    return element("pre", together(place, *lines, between="\n"), tabindex="0", aria_label="The edit, as a diff")


def _explains(chapter: Chapter) -> Markup | None:
    if not chapter.symptoms:
        return None
    rows = [element("li", sentences.symptom(each)) for each in chapter.symptoms]
    return together(element("p", "It explains:"), element("ul", *rows))


# What the run was: how it was started, from which code, on what, with what, and how it went.
def _of_the_run(run: Run, result: RunResult) -> Iterator[tuple[str, str]]:
    started = run.facts.run.started if run.facts.run else None
    yield "status", run.status
    yield "steps", f"{result.steps:,} ({result.counted})"
    if result.losses is not None:
        losses = result.losses
        yield (
            "loss",
            f"first {_point(losses.first)}, lowest {_point(losses.lowest)}, last {_point(losses.last)}",
        )
    if started is not None:
        yield "started", time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(started))
    if run.duration_s is not None:
        yield "took", f"{run.duration_s:,.1f} s"


def _said(run: Run, result: RunResult) -> Iterator[tuple[str, str]]:
    """What the report on the terminal says last, and what could not be read."""
    wanted = ("unseen", "notice", "cost")
    yield from (line for line in sentences.closing(result) if line[0] in wanted)
    yield from (("damage", sentence) for sentence in run.damage)


def _point(point: tuple[int, float] | None) -> str:
    return f"{sentences.number(point[1])} (step {point[0]:,})" if point is not None else "none that is finite"


def _facts_table(title: str, rows: Iterable[tuple[str, str]]) -> Markup:
    made = [element("tr", element("th", name, scope="row"), element("td", value)) for name, value in rows]
    return element("table", element("caption", title), element("tbody", *made), class_="still-table still-facts")
