"""What the report shows without a script: the verdict, all findings, the facts, curves and layers.

Everything here is made from the run itself, and what came from the run is text (`markup`).
"""

from __future__ import annotations

from importlib.resources import files

from torch_debugger.archive.run import Run
from torch_debugger.report import sentences
from torch_debugger.report.result import RunResult
from torch_debugger.viewer.kept_code import KeptCode, kept_code
from torch_debugger.viewer.still.curve import curve_figure
from torch_debugger.viewer.still.facts import facts_table, hparams_table
from torch_debugger.viewer.still.findings import chapter_section, prose
from torch_debugger.viewer.still.layers import layer_figures
from torch_debugger.viewer.still.markup import Markup, element
from torch_debugger.viewer.still.told import told_result

_MOST_CURVES = 24
_MOST_FINDINGS = 200


def still_page(run: Run) -> Markup:
    result, code = told_result(run), kept_code(run)
    return element(
        "main",
        element("p", "torch-debugger report", class_="quiet still-kicker"),
        element("h1", run.name),
        element("p", prose(_lead(run, result)), class_="still-lead"),
        *_findings(result, code, first=True),
        _loss(run, result),
        *_findings(result, code, first=False),
        _curves(run),
        _layers(run),
        element("h2", "Facts"),
        facts_table(run, result),
        hparams_table(run),
        element("noscript", element("p", _WITHOUT_SCRIPT, class_="quiet")),
        class_="still",
    )


def still_style() -> str:
    return (files("torch_debugger.viewer.still") / "still.css").read_text("utf-8")


_WITHOUT_SCRIPT = (
    "With JavaScript this file is the whole page of the run: curves to zoom into, layers, the model."
)


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


def _layers(run: Run) -> Markup | None:
    figures = layer_figures(run)
    return element("section", element("h2", "Layers"), *figures) if figures else None
