"""Runs as lines of a table: as many columns as the terminal has room for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torch_debugger.report.curves import render_sparkline
from torch_debugger.report.printable import one_line
from torch_debugger.report.trimmed import Trimmed

_SPARK_WIDTH = 12
_LONGEST_HPARAM = 24
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


class _Column(NamedTuple):
    heading: str
    from_width: int  # of the terminal, in characters
    cell: Callable[[RunLine], Text]


def render_runs(lines: Sequence[RunLine], console: Console) -> None:
    """Print the table; hyperparameters are shown where they differ."""
    different = differing_hparams([line.hparams for line in lines])
    columns = [column for column in _COLUMNS if console.width >= column.from_width]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for column in columns:
        right = column.heading in ("steps", "loss", "took")
        first = column.heading == "run"
        table.add_column(
            column.heading,
            justify="right" if right else "left",
            no_wrap=not first,
            overflow="fold" if first else "ellipsis",
            min_width=len(column.heading),
        )
    if different and console.width >= 120:
        table.add_column("what differs", overflow="fold", ratio=1)
    for line in lines:
        extra = [_hparams(line, different)] if different and console.width >= 120 else []
        table.add_row(*(column.cell(line) for column in columns), *extra)
    console.print(Trimmed(table, console.width), end="")


def differing_hparams(all_hparams: Sequence[dict[str, bool | int | float | str]]) -> list[str]:
    """The names whose values are not the same in all of them."""
    names = dict.fromkeys(name for hparams in all_hparams for name in hparams)
    missing = object()
    values = {name: {repr(hparams.get(name, missing)) for hparams in all_hparams} for name in names}
    return [name for name in names if len(values[name]) > 1]


def _hparams(line: RunLine, names: list[str]) -> Text:
    pairs = [f"{one_line(name)}={_short(line.hparams[name])}" for name in names if name in line.hparams]
    return Text(" ".join(pairs), style="dim")


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
