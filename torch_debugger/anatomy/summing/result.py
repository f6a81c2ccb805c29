"""What `summary` returns: rows and totals, that show themselves in a terminal, a notebook and as text."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.text import Text

from torch_debugger.anatomy.summing.alike import drawn_together
from torch_debugger.anatomy.summing.columns import Column
from torch_debugger.anatomy.summing.layout import Entry, Layout, held_entry, laid_out
from torch_debugger.anatomy.summing.names import ASCII, HIDE_REUSED, in_torchinfos_form, times, tree_names
from torch_debugger.anatomy.summing.page import html_table
from torch_debugger.anatomy.summing.plain import plain_row, plain_tensors
from torch_debugger.anatomy.summing.rows import Own, Row, down_to
from torch_debugger.anatomy.summing.seen import Seen
from torch_debugger.anatomy.summing.totals import total_lines


@dataclass(frozen=True)
class Look:
    """How a summary is shown."""

    columns: tuple[Column, ...]
    depth: int
    col_width: int
    settings: frozenset[str]
    show_held: bool = False  # the parameters of every row too


class Summary:
    """A model as a table; `.rows` and the totals are numbers.

    Each row shows what no other row shows, so that every column sums up to its total: a container has
    the parameters that it holds itself, a module that is used again adds none.
    """

    def __init__(
        self, rows: tuple[Row, ...], inputs: tuple[Seen, ...], ran: str, notes: tuple[str, ...], look: Look
    ) -> None:
        self.rows = rows
        self.inputs = inputs  # what the model was given
        self.ran = ran  # "on shapes", "for real" or "": not at all
        self.notes = notes
        self._look = look

    @functools.cached_property
    def total(self) -> Own:
        return functools.reduce(Own.__add__, (row.own for row in self.rows))

    @property
    def model(self) -> str:
        return self.rows[0].kind

    @property
    def total_params(self) -> int:
        return self.total.params

    @property
    def trainable_params(self) -> int:
        return self.total.trainable_params

    @property
    def frozen_params(self) -> int:
        return self.total.params - self.total.trainable_params

    @property
    def total_param_bytes(self) -> int:
        return self.total.param_bytes

    @property
    def macs(self) -> int:
        """Multiply-adds of one forward; two FLOPs each."""
        return self.total.macs

    total_mult_adds = macs

    @property
    def flops(self) -> int:
        return 2 * self.total.macs

    @property
    def total_output_bytes(self) -> int:
        """Of all that the modules gave, each piece of memory once."""
        return self.total.output_bytes

    def __getitem__(self, path: str) -> Row:
        """The first row of a module."""
        return next(row for row in self.rows if row.path == path)

    def to_dict(self) -> dict[str, Any]:
        """Numbers, words and lists only: for json.dump."""
        totals = {
            "params": self.total_params, "trainable_params": self.trainable_params,
            "frozen_params": self.frozen_params, "param_bytes": self.total_param_bytes,
            "macs": self.macs, "flops": self.flops, "output_bytes": self.total_output_bytes,
            "seconds": self.total.seconds,
        }  # fmt: skip
        return {
            "model": self.model, "inputs": plain_tensors(self.inputs), "ran": self.ran, "totals": totals,
            "rows": [plain_row(row) for row in self.rows], "notes": list(self.notes),
        }  # fmt: skip

    def text(self, width: int | None = None) -> str:
        """As a table of at most so many characters a line; without a width as wide as it is."""
        return "\n".join(line.plain.rstrip() for line in self._lines(width))

    def show(self) -> None:
        """On stdout: as wide as the terminal, in a file as wide as it is."""
        if sys.stdout is None:
            return
        if sys.stdout.isatty():
            Console().print(self)
        else:
            encoding = sys.stdout.encoding or "utf-8"  # a pipe may know less than our characters
            sys.stdout.write(f"{self}\n".encode(encoding, "replace").decode(encoding))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self._lines(options.max_width):
            line.no_wrap, line.overflow = len(line) <= options.max_width, "fold"
            yield line

    def _repr_html_(self) -> str:
        layout = self._laid_out(None)
        return html_table(layout, self._look.columns, self._below())

    def _lines(self, width: int | None) -> Iterator[Text]:
        layout = self._laid_out(width)
        rule = "-" if ASCII in self._look.settings else "─"
        yield Text(rule * layout.width)
        for number, line in enumerate(layout.lines):
            style = "bold" if number == 0 else "dim" if line.row is None or line.row.reused else ""
            yield Text("  ".join([line.name, *line.cells]), style)
            if number == 0:
                yield Text(rule * layout.width)
        yield Text(rule * layout.width)
        for said in [*self._below(), *_said_of(layout)]:
            yield Text(said)

    def _laid_out(self, width: int | None) -> Layout:
        return laid_out(self._entries(), self._look.columns, self._look.col_width, width)

    def _entries(self) -> list[Entry]:
        rows = down_to(self.rows, self._look.depth)
        settings = self._look.settings
        if HIDE_REUSED in settings:
            rows = [row for row in rows if not row.reused]
        if not in_torchinfos_form(settings):
            rows = drawn_together(rows)
        found = []
        for row, name in zip(rows, tree_names(rows, settings), strict=True):
            cells = tuple(column.cell(row, self.total, times(settings)) for column in self._look.columns)
            found.append(Entry(name.text, cells, row))
            if self._look.show_held and not row.reused:
                found += [held_entry(held, name.inside, self._look.columns) for held in row.held]
        return found

    def _below(self) -> list[str]:
        return [*total_lines(self), *self.notes]


def _said_of(layout: Layout) -> list[str]:
    if not layout.left_out:
        return []
    names = ", ".join(column.name for column in layout.left_out)
    return [f"Too narrow for: {names}. {layout.wanted} characters are enough."]
