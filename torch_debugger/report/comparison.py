"""A comparison of two runs, to print, to keep as text, or to show in a notebook."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records.comparison_of_runs import Difference, RunsComparison, Topic
from torch_debugger.report.comparison_findings import suspect_sentence, verdict_sentences
from torch_debugger.report.comparison_words import answer, is_partial, not_compared, precision
from torch_debugger.report.folded_code import FoldedCode
from torch_debugger.report.noise_words import UNKNOWN_NOISE, noise_sentence
from torch_debugger.report.printable import one_line
from torch_debugger.report.trimmed import Trimmed

_WIDEST = 100
_MOST_ROWS = 12  # of one heading; --json has them all
_MOST_LINES = 60  # of a diff
_HTML = '<pre style="font-family:monospace;line-height:1.3;white-space:pre">{code}</pre>'


class ComparisonReport:
    """What `torch_debugger.diff(a, b)` returns; its str() is the whole text."""

    def __init__(self, comparison: RunsComparison) -> None:
        self.comparison = comparison

    @property
    def answer(self) -> str:
        return answer(self.comparison)

    def print(self, console: Console | None = None) -> None:
        on = console or Console()
        blocks = [part for block in _blocks(self.comparison) for part in (Text(), block)][1:]
        on.print(Trimmed(Group(*blocks), min(on.width, _WIDEST)), end="")

    def to_json(self) -> dict[str, object]:
        plain = _finite(dataclasses.asdict(self.comparison))
        assert isinstance(plain, dict)
        return {"format": 1, "answer": self.answer, **plain}

    def __str__(self) -> str:
        paper = Console(file=io.StringIO(), width=_WIDEST, force_jupyter=False, no_color=True)
        self.print(paper)
        assert isinstance(paper.file, io.StringIO)
        return paper.file.getvalue()

    def __repr__(self) -> str:
        return f"<{self.answer}>"

    def _repr_html_(self) -> str:
        paper = Console(
            file=io.StringIO(), width=_WIDEST, force_jupyter=False, record=True, force_terminal=True
        )
        self.print(paper)
        return paper.export_html(inline_styles=True, code_format=_HTML)


def _blocks(comparison: RunsComparison) -> Iterator[RenderableType]:
    yield Text(answer(comparison), style="bold")
    unsure = precision(comparison.parting)
    if unsure and not comparison.unwatched:
        yield Text(unsure)
    if comparison.suspect is not None:
        yield Text(suspect_sentence(comparison.suspect))
    yield from _cause(comparison)
    if comparison.parting.verdict in ("same", "rounding") and any(_settled(comparison)):
        where = " in the steps that both have" if is_partial(comparison.parting) else ""
        yield Text(f"What differs below has no effect beyond that{where}.")
    yield from _noise(comparison)
    if comparison.verdicts:
        yield Group(*map(Text, verdict_sentences(comparison)))
    shown = {each.name for each in comparison.cause.points} if comparison.cause else set()
    for topic in comparison.topics:
        yield from _topic(topic, comparison, shown)
    yield from _small_print(comparison)


def _settled(comparison: RunsComparison) -> Iterator[Difference]:
    """What the runs were made of, as opposed to what became of them."""
    for topic in comparison.topics:
        yield from topic.differences if topic.name != "outcome" else ()


def _noise(comparison: RunsComparison) -> Iterator[RenderableType]:
    if not comparison.groups and comparison.parting.verdict != "parted":
        return
    told = [noise_sentence(each) for each in comparison.noise if comparison.groups or each.difference]
    if told:
        yield Group(*map(Text, [*told, *([] if comparison.groups else [UNKNOWN_NOISE])]))


def _cause(comparison: RunsComparison) -> Iterator[RenderableType]:
    cause = comparison.cause
    if cause is None:
        return
    words = " ".join(part for part in (cause.sentence, cause.check if not cause.points else "") if part)
    yield Text(one_line(words))
    if cause.points:
        yield _rows(cause.points, comparison)


def _topic(topic: Topic, comparison: RunsComparison, shown: set[str]) -> Iterator[RenderableType]:
    rest = [each for each in topic.differences if each.name not in shown]
    parts = ([_rows(rest, comparison)] if rest else []) + _diff(topic.lines)
    if parts:
        yield Group(Text(f"What differs in the {topic.name}", style="bold"), *parts)


def _rows(differences: Sequence[Difference], comparison: RunsComparison) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_row(*(Text(one_line(word), style="dim") for word in ("", comparison.first, comparison.second)))
    for each in differences[:_MOST_ROWS]:
        cells = (each.name, each.first or "none", each.second or "none")
        grid.add_row(*(Text(one_line(cell), overflow="fold") for cell in cells))
    hidden = len(differences) - _MOST_ROWS
    more = [Text(f"{hidden} more; --json FILE writes them all.", style="dim")] if hidden > 0 else []
    return Padding(Group(grid, *more), (0, 0, 0, 2))


def _diff(lines: Sequence[str]) -> list[RenderableType]:
    shown: list[RenderableType] = [FoldedCode(lines[:_MOST_LINES])] if lines else []
    hidden = len(lines) - _MOST_LINES
    if hidden > 0:
        shown.append(Text(f"  {hidden} more lines; --json FILE writes them all.", style="dim"))
    return shown


def _small_print(comparison: RunsComparison) -> Iterator[RenderableType]:
    unmatched = {
        which: [name for name, of in comparison.unmatched if of == which] for which in ("first", "second")
    }
    notes = [f"Only in the {which} run: {_some(names)}." for which, names in unmatched.items() if names]
    if comparison.renamed:
        pairs = [f"{ours} = {theirs}" for ours, theirs in comparison.renamed]
        notes.append(f"Matched by order and shape: {_some(pairs)}.")
    notes += [f"{name} counts as a replicate of {_whose(whose)}." for name, whose in comparison.groups]
    notes += [*not_compared(comparison), *comparison.missing]
    if comparison.advice:
        notes.append(f"To see the place exactly, run both with closer looks: {comparison.advice}")
    if notes:
        yield Group(*(Text(one_line(note), style="dim") for note in notes))


def _whose(group: str) -> str:
    return "both runs, which it resembles alike" if group == "both" else f"the {group} run"


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _finite(plain: object) -> object:
    """JSON has no NaN: null for what is not known, text for what is not finite."""
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, (list, tuple)):
        return [_finite(value) for value in plain]
    if isinstance(plain, float) and not math.isfinite(plain):
        return None if math.isnan(plain) else str(plain)
    return plain
