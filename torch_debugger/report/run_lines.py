"""Runs as lines of a table: as many columns as the terminal has room for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torch_debugger.report.curves import render_sparkline
from torch_debugger.report.printable import one_line
from torch_debugger.report.trimmed import Trimmed

_SPARK_WIDTH = 12
_LONGEST_HPARAM = 24
_MOST_NAMED = 8
_ANY_WIDTH = 10_000
_PADDING = 2
_SHORTEST_NAME = 16
_FIRST_TO_GO = ("when", "took", "curve")
_MISSING = object()
_STATUS_STYLES = {"crashed": "red", "killed": "red", "running": "cyan", "stopped": "yellow"}
_SEVERITY_STYLES = {"error": "red", "warning": "yellow"}


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run, with all that a table may show of it."""

    name: str
    status: str
    verdict: str  # the name of the finding, or words where there is none
    severity: str  # of the verdict; empty without one
    steps: int
    loss: float | None  # the last one
    losses: Sequence[float] = ()  # all of them, or enough for a small picture
    duration_s: float | None = None
    changed: float = 0.0  # when it was last written, seconds since the epoch
    hparams: dict[str, bool | int | float | str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)  # those given to `add_hparams`, by tag


class _Column(NamedTuple):
    heading: str
    from_width: int  # of the terminal, in characters
    cell: Callable[[RunLine], Text]


def render_runs(lines: Sequence[RunLine], console: Console) -> None:
    """Print the table; hyperparameters are shown where they differ, with the metrics logged beside them, as
    many as there is room for. For the first of both names are cut and the columns that tell least go."""
    columns = [column for column in _COLUMNS if console.width >= column.from_width]
    hparams = [_hparam_column(name) for name in differing_hparams([line.hparams for line in lines])]
    metrics = _metric_columns(lines)
    first = [*hparams[:1], *metrics[:1]]
    needed = sum(_width(column, lines) for column in first)
    while _room(columns, lines, console, _SHORTEST_NAME) < needed and columns[-1].heading in _FIRST_TO_GO:
        columns.pop()
    room = _room(columns, lines, console)
    chosen: list[_Column] = []
    for column in [*first, *hparams[1:], *metrics[1:]]:
        width = _width(column, lines)
        if width <= (_room([*columns, *chosen], lines, console, _SHORTEST_NAME) if column in first else room):
            chosen.append(column)
            room -= width
    columns += [column for column in (*hparams, *metrics) if column in chosen]
    left_out = [column.heading for column in (*hparams, *metrics) if column not in chosen]
    longest = max((len(one_line(line.name)) for line in lines), default=0) + min(room, 0)
    named = [
        replace(line, name=cut_middle(one_line(line.name), max(longest, _SHORTEST_NAME))) for line in lines
    ]
    console.print(Trimmed(_table(columns, named), console.width), end="")
    if left_out:
        console.print(_not_shown(left_out))


def _room(columns: Sequence[_Column], lines: Sequence[RunLine], console: Console, name: int = 0) -> int:
    """What these columns leave of the terminal, with names cut to so many letters; negative without room."""
    shown = [replace(line, name=cut_middle(one_line(line.name), name)) for line in lines] if name else lines
    wanted = console.measure(_table(columns, shown), options=console.options.update_width(_ANY_WIDTH)).maximum
    return console.width - wanted


def _width(column: _Column, lines: Sequence[RunLine]) -> int:
    return max(len(column.heading), *(column.cell(line).cell_len for line in lines)) + _PADDING


def cut_middle(text: str, longest: int) -> str:
    """Runs of one sweep differ in the ends of their names."""
    if len(text) <= longest:
        return text
    end = (longest - 3) // 2
    return f"{text[: longest - 3 - end]}...{text[-end:]}"


def _table(columns: Sequence[_Column], lines: Sequence[RunLine]) -> Table:
    table = Table(box=None, padding=(0, _PADDING, 0, 0), header_style="bold", show_edge=False)
    for column in columns:
        right = column.heading in ("steps", "loss", "took")
        first = column.heading == "run"
        table.add_column(
            Text(column.heading),
            justify="right" if right else "left",
            no_wrap=not first,
            overflow="fold" if first else "ellipsis",
            min_width=len(column.heading),
        )
    for line in lines:
        table.add_row(*(column.cell(line) for column in columns))
    return table


def _hparam_column(name: str) -> _Column:
    def cell(line: RunLine) -> Text:
        return Text(_short(line.hparams[name]) if name in line.hparams else "-", style="dim")

    return _Column(one_line(name), 0, cell)


def _metric_columns(lines: Sequence[RunLine]) -> list[_Column]:
    """Of every metric that a run has; hparam/accuracy, as torch's example has it, says no more."""
    tags = dict.fromkeys(tag for line in lines for tag in line.metrics)
    short = [tag.removeprefix("hparam/") for tag in tags]
    return [
        _metric_column(tag, name if short.count(name) == 1 else tag)
        for tag, name in zip(tags, short, strict=True)
    ]


def _metric_column(tag: str, title: str) -> _Column:
    def cell(line: RunLine) -> Text:
        return Text(f"{line.metrics[tag]:.4g}") if tag in line.metrics else Text("-", style="dim")

    return _Column(one_line(title), 0, cell)


def _not_shown(names: list[str]) -> Text:
    """Of the hyperparameters and metrics for which there was no room."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    named = ", ".join(names[:_MOST_NAMED]) + more
    return Text(f"No room for what differs in {named}: a wider terminal or --json shows it.", style="dim")


def differing_hparams(all_hparams: Sequence[dict[str, bool | int | float | str]]) -> list[str]:
    """The names whose values are not the same in all of them, first those with several values; one that only
    repeats another under a longer name (lr, optimizer.lr) is left out."""
    found: dict[tuple[str, ...], str] = {}
    for name in dict.fromkeys(name for hparams in all_hparams for name in hparams):
        values = [repr(hparams.get(name, _MISSING)) for hparams in all_hparams]
        if len(set(values)) > 1:
            found.setdefault((name.rpartition(".")[2], *values), name)
    missing = repr(_MISSING)
    return [name for _, name in sorted(found.items(), key=lambda each: len({*each[0][1:]} - {missing}) < 2)]


def _short(value: bool | int | float | str) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else one_line(str(value))
    return text if len(text) <= _LONGEST_HPARAM else text[: _LONGEST_HPARAM - 3] + "..."


def _when(line: RunLine) -> Text:
    age_s = time.time() - line.changed
    if age_s < 86_400:
        return Text(f"{_span(max(age_s, 0.0))} ago")
    return Text(time.strftime("%Y-%m-%d", time.localtime(line.changed)))


def _span(seconds: float) -> str:
    """Two digits are enough: 34 s, 12 min, 5.2 h, 3.1 days."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            amount = seconds / size
            return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    return f"{seconds:.0f} s"


def _loss(line: RunLine) -> Text:
    if line.loss is None:
        return Text("-", style="dim")
    return Text(f"{line.loss:.4g}", style="" if math.isfinite(line.loss) else "bold red")


_COLUMNS = (
    _Column("run", 0, lambda line: Text(one_line(line.name))),
    _Column("status", 0, lambda line: Text(line.status, style=_STATUS_STYLES.get(line.status, ""))),
    _Column(
        "verdict",
        0,
        lambda line: Text(one_line(line.verdict), style=_SEVERITY_STYLES.get(line.severity, "dim")),
    ),
    _Column("steps", 60, lambda line: Text(f"{line.steps:,}")),
    _Column("loss", 50, _loss),
    _Column(
        "curve", 100, lambda line: Text(render_sparkline(line.losses, _SPARK_WIDTH) if line.losses else "")
    ),
    _Column("took", 90, lambda line: Text("-" if line.duration_s is None else _span(line.duration_s))),
    _Column("when", 70, _when),
)
