"""What `summary` returns: rows and totals, that show themselves in a terminal, a notebook and as text."""

from __future__ import annotations

import difflib
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions
from rich.text import Text

from torch_debugger.model.nested_tensors import NamedSize, dtype_name, sizes_text
from torch_debugger.model.summary_rows import Own, Row, down_to
from torch_debugger.records.units import bytes_text
from torch_debugger.system.errors import UsageError


@dataclass(frozen=True)
class TableStyle:
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
        self, rows: tuple[Row, ...], inputs: tuple[NamedSize, ...], ran: str, notes: tuple[str, ...], look: TableStyle
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
        words = ("path", "name", "kind", "depth", "calls", "called", "reused", "params", "trainable_params")
        rows = [
            {name: getattr(row, name) for name in words} | {
                "kernel": list(row.kernel) if row.kernel else None,
                "inputs": _plain_tensors(row.inputs), "outputs": _plain_tensors(row.outputs),
                "dtype": row.dtype, "device": row.device, "tied": list(row.tied), "own": asdict(row.own),
            }
            for row in self.rows
        ]  # fmt: skip
        return {
            "model": self.model, "inputs": _plain_tensors(self.inputs), "ran": self.ran, "totals": totals,
            "rows": rows, "notes": list(self.notes),
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
        columns, style = self._look.columns, "padding: 1px 10px; white-space: pre; font-family: monospace;"

        def line_html(kind: str, line: TableLine) -> str:
            texts = [line.name.rstrip(), *(cell.strip() for cell in line.cells)]
            sides = ["left", *("right" if column.is_number else "left" for column in columns)]
            return "".join(
                f'<{kind} style="{style} text-align: {side}">{escape(text)}</{kind}>'
                for text, side in zip(texts, sides, strict=True)
            )

        titles, *lines = self._laid_out(None).lines
        body = "".join(f"<tr>{line_html('td', line)}</tr>" for line in lines)
        below = "<br>".join(escape(line) for line in self._below())
        return f"<table><thead><tr>{line_html('th', titles)}</tr></thead><tbody>{body}</tbody></table><p>{below}</p>"

    def _lines(self, width: int | None) -> Iterator[Text]:
        layout = self._laid_out(width)
        rule = "-" if ASCII in self._look.settings else "─"
        yield Text(rule * layout.width)
        for number, row in enumerate(layout.lines):
            style = "bold" if number == 0 else "dim" if row.row is None or row.row.reused else ""
            yield Text("  ".join([row.name, *row.cells]), style)
            if number == 0:
                yield Text(rule * layout.width)
        yield Text(rule * layout.width)
        for line in self._below():
            yield Text(line)
        if layout.left_out:
            names = ", ".join(column.name for column in layout.left_out)
            yield Text(f"Too narrow for: {names}. {layout.wanted} characters are enough.")

    def _laid_out(self, width: int | None) -> TableLayout:
        look, columns = self._look, self._look.columns
        rows = down_to(self.rows, look.depth)
        if HIDE_REUSED in look.settings:
            rows = [row for row in rows if not row.reused]
        if not _in_torchinfos_form(look.settings):
            rows = drawn_together(rows)
        has_kernels = any(column.name == "kernel_size" for column in columns)
        entries = []
        for row, (name, inside) in zip(rows, tree_names(rows, look.settings), strict=True):
            cells = tuple(column.cell(row, self.total, _times(look.settings)) for column in columns)
            entries.append(Entry(name, cells, row))
            for parameter in row.held if look.show_held and not row.reused else ():
                # a parameter below the row that holds it; its count is part of the row's
                size = str(list(parameter.size)) if not parameter.lazy else "(no size yet)"
                texts = {
                    "kernel_size": size,
                    "num_params": f"of these {parameter.elements:,}",
                    "dtype": dtype_name(parameter.dtype),
                }
                name = parameter.name if has_kernels else f"{parameter.name} {size}"
                entries.append(Entry(inside + name, tuple((texts.get(column.name, ""),) for column in columns)))
        return laid_out(entries, columns, look.col_width, width)

    def _below(self) -> list[str]:
        """The totals and the notes."""
        total = self.total
        lines = [
            f"Total params: {total.params:,} ({bytes_text(total.param_bytes)})",
            f"Trainable params: {total.trainable_params:,}",
            f"Non-trainable params: {self.frozen_params:,}",
        ]
        if self.ran:
            dtypes = ", ".join(dict.fromkeys(one.dtype for one in self.inputs))
            lines.append(f"Input: {sizes_text(self.inputs)[0]} {dtypes}".rstrip())
            if total.macs:
                lines.append(f"Total mult-adds: {_short_count(total.macs)} ({_short_count(2 * total.macs)} FLOPs)")
            lines.append(f"Outputs of all layers: {bytes_text(total.output_bytes)}")
            if total.seconds:
                lines.append(f"Forward: {total.seconds * 1e3:,.2f} ms")
        return [*lines, *self.notes]


def _plain_tensors(seen: tuple[NamedSize, ...]) -> list[dict[str, Any]]:
    return [{"name": one.name, "size": list(one.size), "dtype": one.dtype} for one in seen]


def _short_count(count: float) -> str:
    """1.81 G, 950"""
    for letter, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {letter}"
    return f"{count:g}"


# The columns of a summary: their names in torchinfo's words and in ours, and what they say of a row.
Cell = tuple[str, ...]  # what to say, then ever shorter forms of it
NOTHING: Cell = ("--",)


class Column(NamedTuple):
    name: str
    title: str
    text: Callable[[Row, Own], Cell]  # of a row, and of all rows together
    needs_run: bool = True
    is_number: bool = True  # on the right side of its column

    def cell(self, row: Row, total: Own, times: str) -> Cell:
        """80 x 855,654,400 for eighty rows that are shown as one."""
        text = self.text(row, total)
        if row.alike == 1 or not self.is_number or not text[0].strip("(")[0].isdigit():
            return text
        return tuple(f"{row.alike} {times} {form}" for form in text)


def _params(row: Row, total: Own) -> Cell:
    """Frozen ones in brackets."""
    if row.own.params:
        count = f"{row.own.params:,}"
        return (count if row.own.trainable_params else f"({count})",)
    if row.reused and row.params:
        return ("(reused)",)
    return ("(tied)",) if row.tied else NOTHING


def _counted(operations: int) -> Cell:
    return (f"{operations:,}", _short_count(operations)) if operations else NOTHING


_ALL = (
    Column(
        "kernel_size", "Kernel", lambda row, total: (str(list(row.kernel)),) if row.kernel else NOTHING,
        needs_run=False, is_number=False,
    ),
    Column("input_size", "Input", lambda row, total: sizes_text(row.inputs), is_number=False),
    Column(
        "output_size", "Output", lambda row, total: ("(not called)",) if row.idle else sizes_text(row.outputs),
        is_number=False,
    ),
    Column("num_params", "Params", _params, needs_run=False),
    Column(
        "params_percent", "Params %",
        lambda row, total: (f"{row.own.params / total.params:.2%}",) if row.own.params else NOTHING, needs_run=False,
    ),
    Column("trainable", "Trainable", lambda row, total: (row.trainable,), needs_run=False, is_number=False),
    Column("mult_adds", "MACs", lambda row, total: _counted(row.own.macs)),
    Column("flops", "FLOPs", lambda row, total: _counted(2 * row.own.macs)),
    Column(
        "activations", "Activations",
        lambda row, total: (bytes_text(row.own.output_bytes),) if row.own.output_bytes else NOTHING,
    ),
    Column("dtype", "Dtype", lambda row, total: (row.dtype,), needs_run=False, is_number=False),
    Column("device", "Device", lambda row, total: (row.device,), needs_run=False, is_number=False),
    Column("time", "Time", lambda row, total: (f"{row.own.seconds * 1e3:,.3f} ms",) if row.called else NOTHING),
)  # fmt: skip
COLUMNS = {column.name: column for column in _ALL}
_ALSO = {"kernel": "kernel_size", "input": "input_size", "output": "output_size", "params": "num_params",
         "percent": "params_percent", "macs": "mult_adds", "memory": "activations"}  # fmt: skip
_USUAL = ("output_size", "num_params", "mult_adds")


def chosen_columns(names: Iterable[str] | None, has_input: bool) -> tuple[Column, ...]:
    """Without an input only the columns that need no run."""
    if names is None:
        usual = [COLUMNS[name] for name in _USUAL]
        return tuple(column for column in usual if has_input or not column.needs_run)
    chosen = []
    for each in [names] if isinstance(names, str) else names:
        wanted = str(getattr(each, "value", each))
        name = _ALSO.get(wanted, wanted)
        if name not in COLUMNS:
            near = difflib.get_close_matches(name, [*COLUMNS, *_ALSO], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"there is no column {name!r}.{hint} There are: {', '.join(COLUMNS)}.")
        chosen.append(COLUMNS[name])
    waiting = [column.name for column in chosen if column.needs_run and not has_input]
    if waiting:
        raise UsageError(f"the columns {', '.join(waiting)} need a run of the model: give it input_size or input_data.")
    return tuple(chosen)


# Rows and columns fitted into a width: what is too long gets shorter, what does not fit is named.
_GAP = 2
_NARROWEST_NAME = 24


class TableLine(NamedTuple):
    name: str
    cells: tuple[str, ...]
    row: Row | None = None  # None for the titles and for parameters


class TableLayout(NamedTuple):
    lines: list[TableLine]  # the titles first
    width: int
    wanted: int  # the width at which nothing is shortened
    left_out: list[Column]  # for which there was no room


class Entry(NamedTuple):
    """One line before it is fitted."""

    name: str
    cells: tuple[Cell, ...]
    row: Row | None = None


def laid_out(entries: Sequence[Entry], columns: tuple[Column, ...], col_width: int, width: int | None) -> TableLayout:
    """Operations are shortened first, then sizes, then names; what still does not fit is left out."""
    everything = [Entry("Layer", tuple((column.title,) for column in columns)), *entries]
    limits = [max(col_width, len(column.title)) for column in columns]
    widths = [max(len(entry.name) for entry in everything), *_widths(everything, limits, 0)]
    narrowest = [min(widths[0], _NARROWEST_NAME), *_widths(everything, limits, -1)]
    kept, wanted = len(columns), _total(widths)
    while width is not None and kept > 1 and _total(narrowest[: kept + 1]) > width:
        kept -= 1
    for place in [*sorted(range(1, kept + 1), key=lambda place: not columns[place - 1].is_number), 0]:
        excess = 0 if width is None else _total(widths[: kept + 1]) - width
        widths[place] = max(widths[place] - max(excess, 0), narrowest[place])
    lines = []
    for entry in everything:
        cells = []
        for cell, cell_width, column in zip(entry.cells, widths[1:], columns[:kept], strict=False):
            text = _fitted(cell, cell_width)
            cells.append(text.rjust(cell_width) if column.is_number else text.ljust(cell_width))
        lines.append(TableLine(_cut(entry.name, widths[0]).ljust(widths[0]), tuple(cells), entry.row))
    return TableLayout(lines, _total(widths[: kept + 1]), wanted, list(columns[kept:]))


def _widths(entries: Sequence[Entry], limits: list[int], form: int) -> list[int]:
    """Of the columns, with the longest (0) or the shortest (-1) forms of their cells that keep to a limit."""
    return [
        max(len(_fitted(entry.cells[place][form:], limit)) for entry in entries) for place, limit in enumerate(limits)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _fitted(cell: Cell, width: int) -> str:
    return next((form for form in cell if len(form) <= width), _cut(cell[-1], width))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


# The first column of a summary: a tree of names, in our form or in torchinfo's.
ASCII, DEPTH, VAR_NAMES, HIDE_REUSED = "ascii_only", "depth", "var_names", "hide_recursive_layers"
_SETTINGS = (ASCII, DEPTH, VAR_NAMES, HIDE_REUSED)
_TREE = {"branch": "├─ ", "last": "└─ ", "passing": "│  ", "over": "   "}
_ASCII_TREE = {"branch": "+- ", "last": "+- ", "passing": "|  ", "over": "   "}


def read_settings(row_settings: Iterable[str] | None) -> frozenset[str]:
    if row_settings is None:
        return frozenset()
    requested = [row_settings] if isinstance(row_settings, str) else row_settings
    settings = frozenset(str(getattr(setting, "value", setting)) for setting in requested)
    unknown = sorted(settings - set(_SETTINGS))
    if unknown:
        raise UsageError(f"row_settings has no {unknown[0]!r}: there are {', '.join(_SETTINGS)}.")
    return settings


def _in_torchinfos_form(settings: frozenset[str]) -> bool:
    return bool(settings & {DEPTH, VAR_NAMES})


def _times(settings: frozenset[str]) -> str:
    return "x" if ASCII in settings else "\N{MULTIPLICATION SIGN}"


def tree_names(rows: Sequence[Row], settings: frozenset[str]) -> list[tuple[str, str]]:
    """`conv1 (Conv2d)`; with torchinfo's settings `Conv2d (conv1): 1-1`. And what stands before its parameters."""
    tree = _ASCII_TREE if ASCII in settings else _TREE
    names, count = [], Counter[int]()
    for row, (before, inside) in zip(rows, _guides(rows, tree), strict=True):
        if _in_torchinfos_form(settings):
            count[row.depth] += 1
            name = f" ({row.name})" if VAR_NAMES in settings and row.name else ""
            index = f": {row.depth}-{count[row.depth]}" if DEPTH in settings and row.depth else ""
            label = f"{row.kind}{name}{index}"
        else:
            label = f"{row.name} ({row.kind})" if row.name else row.kind
        if not label.isprintable():  # a module may be named after an escape sequence
            label = ascii(label)[1:-1]
        repeated = f" {_times(settings)}{row.calls}" if row.calls > 1 else ""
        names.append((f"{before}{label}{repeated}", inside))
    return names


def _guides(rows: Sequence[Row], tree: dict[str, str]) -> list[tuple[str, str]]:
    """What stands before a row, and before what is inside it; from the end, where it is known what follows."""
    found: list[tuple[str, str]] = []
    following: set[int] = set()  # depths at which another row comes before the tree goes back above them
    for row in reversed(rows):
        levels = [tree["passing" if level in following else "over"] for level in range(1, row.depth + 1)]
        own = tree["branch" if row.depth in following else "last"] if row.depth else ""
        has_inside = row.depth + 1 in following
        found.append(("".join(levels[:-1]) + own, "".join(levels) + tree["passing" if has_inside else "over"]))
        following = {level for level in following if level < row.depth} | {row.depth}
    return found[::-1]


# Layers alike, one after the other, shown once: the eighty blocks of a language model.
_FEWEST = 3


def drawn_together(rows: Sequence[Row], times: int = 1) -> list[Row]:
    """Only members of a list, whose names are numbers; `alike` says how many stand behind a row."""
    if not rows:
        return []
    shown = [replace(rows[0], alike=times)]
    for _, group in groupby(_members(rows[1:]), key=_form):
        several = list(group)
        if len(several) < _FEWEST:
            for member in several:
                shown += drawn_together(member, times)
        else:
            first, *inside = drawn_together(several[0], times * len(several))
            shown += [replace(first, name=f"{first.name} to {several[-1][0].name}"), *inside]
    return shown


def _members(rows: Sequence[Row]) -> list[list[Row]]:
    """Each row of the first one's depth, with those below it."""
    members: list[list[Row]] = []
    for row in rows:
        if row.depth == rows[0].depth:
            members.append([])
        members[-1].append(row)
    return members


def _form(member: list[Row]) -> tuple[Any, ...]:
    first, *inside = member
    numbered = "" if first.name.isdigit() else first.path
    return numbered, *_looks(first), *(part for row in inside for part in (row.name, row.depth, *_looks(row)))


def _looks(row: Row) -> tuple[Any, ...]:
    sizes = tuple((parameter.name, parameter.size) for parameter in row.held)
    own = replace(row.own, seconds=0.0)
    return row.kind, row.inputs, row.outputs, row.calls, row.idle, row.reused, sizes, own, row.dtype, row.device
