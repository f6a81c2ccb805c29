"""Lines without the blanks rich fills them up with: terminals copy those, and logs keep them."""

from __future__ import annotations

import functools
import html
import io
import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from torch_debugger.records.units import bytes_text
from torch_debugger.report.text import one_line


class Trimmed:
    """Some content at some width, each line ending where its last word does."""

    def __init__(self, content: RenderableType, width: int) -> None:
        self._content = content
        self._width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        for line in console.render_lines(self._content, options.update_width(self._width), pad=False):
            while line and not line[-1].text.strip():
                line = line[:-1]
            if line:
                yield from [*line[:-1], Segment(line[-1].text.rstrip(), line[-1].style)]
            yield Segment.line()


def plain_text(content: RenderableType, width: int = 100) -> str:
    """Without colours; a notebook would display what a console of its own writes."""
    console = Console(file=io.StringIO(), width=width, force_jupyter=False, no_color=True)
    console.print(Trimmed(content, width), end="")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def cut_beginning(name: str, most: int) -> str:
    """The end of a path tells more than its beginning."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


# Runs as lines of a table: as many columns as the terminal has room for.
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
    names = differing_hparams([line.hparams for line in lines])
    hparams = [_Column(one_line(name), 0, functools.partial(_hparam_cell, name)) for name in names]
    # Every metric that a run has; hparam/accuracy, as torch's example has it, says no more.
    tags = dict.fromkeys(tag for line in lines for tag in line.metrics)
    short = [tag.removeprefix("hparam/") for tag in tags]
    titles = [name if short.count(name) == 1 else tag for tag, name in zip(tags, short, strict=True)]
    metrics = [
        _Column(one_line(title), 0, functools.partial(_metric_cell, tag))
        for tag, title in zip(tags, titles, strict=True)
    ]
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
    named = [replace(line, name=cut_middle(one_line(line.name), max(longest, _SHORTEST_NAME))) for line in lines]
    console.print(Trimmed(_table(columns, named), console.width), end="")
    if left_out:
        more = f" and {len(left_out) - _MOST_NAMED} more" if len(left_out) > _MOST_NAMED else ""
        named_columns = ", ".join(left_out[:_MOST_NAMED]) + more
        words = f"No room for what differs in {named_columns}: a wider terminal or --json shows it."
        console.print(Text(words, style="dim"))


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


def _hparam_cell(name: str, line: RunLine) -> Text:
    if name not in line.hparams:
        return Text("-", style="dim")
    value = line.hparams[name]
    text = f"{value:.4g}" if isinstance(value, float) else one_line(str(value))
    return Text(text if len(text) <= _LONGEST_HPARAM else text[: _LONGEST_HPARAM - 3] + "...", style="dim")


def _metric_cell(tag: str, line: RunLine) -> Text:
    return Text(f"{line.metrics[tag]:.4g}") if tag in line.metrics else Text("-", style="dim")


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
    _Column("curve", 100, lambda line: Text(render_sparkline(line.losses, _SPARK_WIDTH) if line.losses else "")),
    _Column("took", 90, lambda line: Text("-" if line.duration_s is None else _span(line.duration_s))),
    _Column("when", 70, _when),
)


# Memory as the user reads it: tables of lines, modules and names, the largest first.
_WIDEST = 100
_MOST = 10
_NAME = 40  # characters
_NUMBERS = 28  # the columns of numbers, and what lies between columns

MemoryRow = tuple[int, int, str, str]  # bytes, storages, what, beside it
MemoryTable = tuple[str, list[MemoryRow]]


def tables_text(title: str, tables: Sequence[MemoryTable], notes: Sequence[str]) -> str:
    blocks: list[RenderableType] = [Text(one_line(title), style="bold")]
    blocks += [Group(Text(name), _grid(rows)) for name, rows in tables if rows]
    blocks += [Text(one_line(note), style="dim") for note in notes]
    return plain_text(Group(*blocks), _WIDEST).rstrip("\n")


def tables_html(title: str, tables: Sequence[MemoryTable], notes: Sequence[str]) -> str:
    parts = [f"<p><b>{_safe(title)}</b></p>"]
    for name, rows in tables:
        body = "".join(
            f"<tr><td>{signed_bytes(size)}</td><td>{count:,}</td><td><code>{_safe(what)}</code></td>"
            f"<td><code>{_safe(beside)}</code></td></tr>"
            for size, count, what, beside in rows[:_MOST]
        )
        head = "<tr><th>bytes</th><th>storages</th><th></th><th></th></tr>"
        parts.append(f"<table><caption>{_safe(name)}</caption>{head}{body}</table>{_safe(_more(rows))}")
    return "".join([*parts, *(f"<p>{_safe(note)}</p>" for note in notes)])


def signed_bytes(size_bytes: int) -> str:
    return f"-{bytes_text(-size_bytes)}" if size_bytes < 0 else bytes_text(size_bytes)


def _grid(rows: Sequence[MemoryRow]) -> RenderableType:
    total = sum(abs(row[0]) for row in rows)
    grid = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "right", "left", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    room = _WIDEST - _NUMBERS - min(_NAME, max(len(row[2]) for row in rows[:_MOST]))
    for size, count, what, beside in rows[:_MOST]:
        share = f"{100 * abs(size) / max(total, 1):.0f} %"
        words = Text(one_line(beside)[:room], style="dim")
        grid.add_row(signed_bytes(size), share, f"{count:,} x", Text(cut_beginning(one_line(what), _NAME)), words)
    more = [Text(_more(rows), style="dim")] if _more(rows) else []
    return Padding(Group(grid, *more), (0, 0, 0, 2))


def _more(rows: Sequence[MemoryRow]) -> str:
    rest = rows[_MOST:]
    return f"and {len(rest):,} more with {signed_bytes(sum(row[0] for row in rest))}" if rest else ""


def _safe(text: str) -> str:
    return html.escape(one_line(text))


# A curve drawn in braille dots: 2 by 4 of them in each character.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # [row][column] of one character
_BLANK = 0x2800
_LOST = "x"  # marks columns in which no value was finite


def render_curve(
    values: Sequence[float],
    width: int = 60,
    height: int = 6,
    *,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """Lines of text, oldest value left, with the ends of the scale at their edge. Without `low` and
    `high` the curve fills its own range; values that are not finite leave a gap marked at the bottom."""
    rows, bottom, top = _drawn(values, width, height, low, high)
    labels = [f"{top:.4g}", *[""] * (height - 2), f"{bottom:.4g}"] if height > 1 else [f"{top:.4g}"]
    margin = max(map(len, labels))
    return "\n".join(f"{label:>{margin}} │{row}" for label, row in zip(labels, rows, strict=True))


def render_sparkline(values: Sequence[float], width: int) -> str:
    """The curve in one line that fills its own range."""
    return _drawn(values, width, 1)[0][0]


def _drawn(
    values: Sequence[float], width: int, height: int, low: float | None = None, high: float | None = None
) -> tuple[list[str], float, float]:
    """The rows of characters, and the ends of the scale."""
    means = _resample(values, 2 * width)
    finite = [mean for mean in means if mean is not None]
    bottom = low if low is not None else min(finite, default=0.0)
    top = high if high is not None else max(finite, default=1.0)
    rows = _draw(means, width, height, bottom, top if top > bottom else bottom + 1.0)
    lost = {column // 2 for column in range(len(means)) if means[column] is None}
    rows[-1] = "".join(_LOST if at in lost and cell == chr(_BLANK) else cell for at, cell in enumerate(rows[-1]))
    return rows, bottom, top


def _resample(values: Sequence[float], columns: int) -> list[float | None]:
    """The mean of the finite values that fall into each column; None where there are none."""
    count = min(columns, len(values))
    edges = [round(index * len(values) / count) for index in range(count + 1)] if count else []
    parts = ([value for value in values[start:end] if math.isfinite(value)] for start, end in itertools.pairwise(edges))
    return [sum(finite) / len(finite) if finite else None for finite in parts]


def _draw(means: list[float | None], width: int, height: int, bottom: float, top: float) -> list[str]:
    cells = [[_BLANK] * width for _ in range(height)]
    last: int | None = None
    for column, mean in enumerate(means):
        level = None
        if mean is not None:  # the dot row of a value, 0 at the top
            share = (mean - bottom) / (top - bottom)
            level = round((1.0 - min(max(share, 0.0), 1.0)) * (4 * height - 1))
            start = level if last is None else last + (level > last) - (level < last)
            for row in range(min(start, level), max(start, level) + 1):
                cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
        last = level
    return ["".join(map(chr, row)) for row in cells]
