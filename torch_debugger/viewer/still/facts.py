"""What the run was: how it was started, from which code, on what, with what, and how it went."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from torch_debugger.archive.run import Run
from torch_debugger.report import sentences
from torch_debugger.report.result import RunResult
from torch_debugger.viewer.how_it_was_run import how_it_was_run, hparam_rows
from torch_debugger.viewer.still.markup import Markup, element


def facts_table(run: Run, result: RunResult) -> Markup:
    facts = [*_of_the_run(run, result), *how_it_was_run(run), *_said(run, result)]
    return _table("The run", facts)


def hparams_table(run: Run) -> Markup | None:
    shown = hparam_rows(run)
    return _table("Hyperparameters", shown) if shown else None


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


def _table(title: str, rows: Iterable[tuple[str, str]]) -> Markup:
    made = [element("tr", element("th", name, scope="row"), element("td", value)) for name, value in rows]
    return element(
        "table", element("caption", title), element("tbody", *made), class_="still-table still-facts"
    )
