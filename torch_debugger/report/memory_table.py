"""Memory as the user reads it: tables of lines, modules and names, the largest first."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records.units import bytes_text
from torch_debugger.report.printable import one_line
from torch_debugger.report.trimmed import Trimmed

_WIDEST = 100
_MOST = 10
_NAME = 40  # characters
_NUMBERS = 28  # the columns of numbers, and what lies between columns

MemoryRow = tuple[int, int, str, str]  # bytes, storages, what, beside it
MemoryTable = tuple[str, list[MemoryRow]]


def tables_text(title: str, tables: Sequence[MemoryTable], notes: Sequence[str]) -> str:
    console = Console(file=io.StringIO(), width=_WIDEST, force_jupyter=False, no_color=True)
    console.print(Trimmed(Group(*memory_blocks(title, tables, notes)), _WIDEST), end="")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().rstrip("\n")


def memory_blocks(title: str, tables: Sequence[MemoryTable], notes: Sequence[str]) -> list[RenderableType]:
    blocks: list[RenderableType] = [Text(one_line(title), style="bold")]
    blocks += [Group(Text(name), _grid(rows)) for name, rows in tables if rows]
    return [*blocks, *(Text(one_line(note), style="dim") for note in notes)]


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
        grid.add_row(signed_bytes(size), share, f"{count:,} x", Text(_cut(one_line(what))), words)
    more = [Text(_more(rows), style="dim")] if _more(rows) else []
    return Padding(Group(grid, *more), (0, 0, 0, 2))


def _more(rows: Sequence[MemoryRow]) -> str:
    rest = rows[_MOST:]
    return f"and {len(rest):,} more with {signed_bytes(sum(row[0] for row in rest))}" if rest else ""


def _cut(name: str) -> str:
    """The end of a path tells more than its beginning."""
    return name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"


def _safe(text: str) -> str:
    return html.escape(one_line(text))
