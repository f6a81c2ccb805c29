"""A pre-flight as the user reads it: one line a trial, and what to do about those that failed."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records import CaseFact, TrialResult
from torch_debugger.report.curves import render_curve
from torch_debugger.report.printable import one_line
from torch_debugger.report.source import short_paths, shown_path
from torch_debugger.report.trimmed import Trimmed

_WIDEST = 100
_STYLES = {"passed": "green", "failed": "bold red", "untried": "dim"}
_WORDS = {"passed": "passed", "failed": "failed", "untried": "not tried"}
_WIDTH, _HEIGHT = 48, 4  # of a curve, in characters


def render_checkup(
    case: CaseFact | None,
    results: Sequence[TrialResult],
    console: Console,
    *,
    folder: str = "",
    picture: str = "",
) -> None:
    """Print it on this console; `picture` is where the learning-rate range was drawn."""
    blocks: list[RenderableType] = [Text(case_sentence(case, folder)), Text()] if case is not None else []
    blocks += [_trial(result, folder) for result in results]
    closing = [Text(), Text(summary(results), style="bold")]
    if picture:
        closing.append(Text(f"The learning-rate range as a picture: {one_line(picture)}", style="dim"))
    console.print(Trimmed(Group(*blocks, *closing), min(console.width, _WIDEST)), end="")


def checkup_text(case: CaseFact | None, results: Sequence[TrialResult], **known: str) -> str:
    console = Console(file=io.StringIO(), width=_WIDEST, force_jupyter=False, no_color=True)
    render_checkup(case, results, console, **known)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def case_sentence(case: CaseFact, folder: str = "") -> str:
    """Tried on copies: net (4,170 parameters to learn), one batch of float32 [32, 10], SGD, lr 0.1; ..."""
    place = f", computed at {shown_path(case.place.file, folder)}:{case.place.line}" if case.place.file else ""
    optimizer = case.optimizer or "no optimizer"
    return one_line(
        f"Tried on copies: {case.model} ({case.parameters:,} parameters to learn), one batch of {case.inputs}, "
        f"{optimizer}; the loss is {case.loss:.4g}{place}."
    )


def summary(results: Sequence[TrialResult]) -> str:
    counts = [(sum(each.outcome == outcome for each in results), word) for outcome, word in _WORDS.items()]
    said = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{len(results)} trials: {said}." if results else "Nothing could be tried."


def _trial(result: TrialResult, folder: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=9, no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(Text(_WORDS[result.outcome], style=_STYLES[result.outcome]), Text(result.name, style="bold"))
    body = [_prose(result.message, folder)]
    if result.advice and result.outcome == "failed":
        body.append(_prose(f"Do: {result.advice}", folder))
    if result.curve and not result.rates:
        width = min(_WIDTH, -(-len(result.curve) // 2))  # two points a character
        body.append(Text(render_curve(result.curve, width, _HEIGHT), style="dim", no_wrap=True))
    return Group(grid, *(Padding(each, (0, 2, 0, 11)) for each in body))


def _prose(sentence: str, folder: str) -> Text:
    text = Text(one_line(short_paths(sentence, folder)))
    text.highlight_regex(r"`[^`]+`", "cyan")
    return text
