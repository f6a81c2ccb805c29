"""How a check of gradients looks: as text and as HTML."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torch_debugger.inspections.gradient_rows import FAR_BELOW, LAST_BITS, GradientRow

HEADINGS = ("parameter", "shape", "gradient", "norm", "of weight", "why")
_FINE_SHOWN = 40
_NARROWEST = 100  # columns
_TINY = (
    f"tiny: below the dtype's smallest normal number, or less than {FAR_BELOW:g} of the largest in the model "
    f"and so short that a step with lr 0.01 changes hardly a weight (norm < {LAST_BITS:.0f} eps of its weight)."
)


def text_table(rows: Sequence[GradientRow]) -> str:
    shown = _shown(rows)
    table = Table(*HEADINGS, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column in table.columns[:-1]:
        column.no_wrap = True
    above = ""
    for row in shown:
        *cells, why = _cells(row)
        table.add_row(*map(Text, cells), Text("as above" if why and why == above else why))
        above = why
    target = io.StringIO()
    width = max(_NARROWEST, Console().width)
    Console(file=target, width=width, color_system=None).print(table)
    lines = [line.rstrip() for line in target.getvalue().splitlines()]
    words = [part for line in _words(rows, len(rows) - len(shown)) for part in textwrap.wrap(line, width)]
    return "\n".join([*lines, *words])


def html_table(rows: Sequence[GradientRow]) -> str:
    shown = _shown(rows)
    head = "".join(f"<th style='text-align:left'>{name}</th>" for name in HEADINGS)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(row))}</tr>" for row in shown
    )
    words = "".join(f"<p>{html.escape(line)}</p>" for line in _words(rows, len(rows) - len(shown)))
    return f"<table><tr>{head}</tr>{body}</table>{words}"


def _cells(row: GradientRow) -> list[str]:
    shape = ", ".join(str(size) for size in row.shape)
    norm = "-" if row.norm is None else f"{row.norm:.2e}"
    ratio = "-" if row.ratio is None else f"{row.ratio:.0e}"
    shared = f"shared with {', '.join(f'`{name}`' for name in row.also)}" if row.also else ""
    return [row.name, f"[{shape}]", row.status, norm, ratio, ". ".join(filter(None, (row.why, shared)))]


def _shown(rows: Sequence[GradientRow]) -> list[GradientRow]:
    """All that are not fine, and of those that are the first ones."""
    fine = [row for row in rows if row.status == "fine"]
    left_out = {row.name for row in fine[_FINE_SHOWN:]}
    return [row for row in rows if row.name not in left_out]


def _words(rows: Sequence[GradientRow], left_out: int) -> list[str]:
    problems = sum(not row.ok for row in rows)
    look = f"{problems} {'needs' if problems == 1 else 'need'} a look" if problems else "nothing to worry about"
    words = [f"{len(rows)} parameters, {look}."]
    if left_out:
        words.insert(0, f"{left_out} more are fine.")
    return [*words, _TINY] if any(row.status == "tiny" for row in rows) else words
