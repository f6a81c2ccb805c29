"""A summary for a notebook."""

from __future__ import annotations

from html import escape

from torch_debugger.anatomy.summing.columns import Column
from torch_debugger.anatomy.summing.layout import Layout

_CELL = "padding: 1px 10px; white-space: pre; font-family: monospace;"


def html_table(layout: Layout, columns: tuple[Column, ...], below: list[str]) -> str:
    sides = ["left", *("right" if column.is_number else "left" for column in columns)]
    titles, *lines = [[line.name.rstrip(), *(cell.strip() for cell in line.cells)] for line in layout.lines]
    head = "".join(_cell("th", text, side) for text, side in zip(titles, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, side) for text, side in zip(line, sides, strict=True))}</tr>"
        for line in lines
    )
    said = "<br>".join(escape(line) for line in below)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{said}</p>"


def _cell(kind: str, text: str, side: str) -> str:
    return f'<{kind} style="{_CELL} text-align: {side}">{escape(text)}</{kind}>'
