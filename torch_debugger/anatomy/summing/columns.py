"""The columns of a summary: their names in torchinfo's words and in ours, and what they say of a row."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from torch_debugger.anatomy.summing.rows import Own, Row
from torch_debugger.anatomy.summing.seen import sizes_text
from torch_debugger.anatomy.summing.totals import short_count
from torch_debugger.errors import UsageError
from torch_debugger.records.units import bytes_text

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


def _input(row: Row, total: Own) -> Cell:
    return sizes_text(row.inputs)


def _output(row: Row, total: Own) -> Cell:
    return ("(not called)",) if row.idle else sizes_text(row.outputs)


def _params(row: Row, total: Own) -> Cell:
    """Frozen ones in brackets."""
    if row.own.params:
        count = f"{row.own.params:,}"
        return (count if row.own.trainable_params else f"({count})",)
    if row.reused and row.params:
        return ("(reused)",)
    return ("(tied)",) if row.tied else NOTHING


def _percent(row: Row, total: Own) -> Cell:
    return (f"{row.own.params / total.params:.2%}",) if row.own.params else NOTHING


def _kernel(row: Row, total: Own) -> Cell:
    return (str(list(row.kernel)),) if row.kernel else NOTHING


def _trainable(row: Row, total: Own) -> Cell:
    return (row.trainable,)


def _macs(row: Row, total: Own) -> Cell:
    return _counted(row.own.macs)


def _flops(row: Row, total: Own) -> Cell:
    return _counted(2 * row.own.macs)


def _counted(operations: int) -> Cell:
    return (f"{operations:,}", short_count(operations)) if operations else NOTHING


def _activations(row: Row, total: Own) -> Cell:
    return (bytes_text(row.own.output_bytes),) if row.own.output_bytes else NOTHING


def _dtype(row: Row, total: Own) -> Cell:
    return (row.dtype,)


def _device(row: Row, total: Own) -> Cell:
    return (row.device,)


def _time(row: Row, total: Own) -> Cell:
    return (f"{row.own.seconds * 1e3:,.3f} ms",) if row.called else NOTHING


_ALL = (
    Column("kernel_size", "Kernel", _kernel, needs_run=False, is_number=False),
    Column("input_size", "Input", _input, is_number=False),
    Column("output_size", "Output", _output, is_number=False),
    Column("num_params", "Params", _params, needs_run=False),
    Column("params_percent", "Params %", _percent, needs_run=False),
    Column("trainable", "Trainable", _trainable, needs_run=False, is_number=False),
    Column("mult_adds", "MACs", _macs),
    Column("flops", "FLOPs", _flops),
    Column("activations", "Activations", _activations),
    Column("dtype", "Dtype", _dtype, needs_run=False, is_number=False),
    Column("device", "Device", _device, needs_run=False, is_number=False),
    Column("time", "Time", _time),
)
COLUMNS = {column.name: column for column in _ALL}
_ALSO = {"kernel": "kernel_size", "input": "input_size", "output": "output_size", "params": "num_params",
         "percent": "params_percent", "macs": "mult_adds", "memory": "activations"}  # fmt: skip
_USUAL = ("output_size", "num_params", "mult_adds")


def chosen_columns(names: Iterable[str] | None, has_input: bool) -> tuple[Column, ...]:
    """Without an input only the columns that need no run."""
    if names is None:
        usual = [COLUMNS[name] for name in _USUAL]
        return tuple(column for column in usual if has_input or not column.needs_run)
    chosen = [
        _named(str(getattr(name, "value", name))) for name in ([names] if isinstance(names, str) else names)
    ]
    waiting = [column.name for column in chosen if column.needs_run and not has_input]
    if waiting:
        raise UsageError(
            f"the columns {', '.join(waiting)} need a run of the model: give it input_size or input_data."
        )
    return tuple(chosen)


def _named(name: str) -> Column:
    name = _ALSO.get(name, name)
    if name not in COLUMNS:
        near = difflib.get_close_matches(name, [*COLUMNS, *_ALSO], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"there is no column {name!r}.{hint} There are: {', '.join(COLUMNS)}.")
    return COLUMNS[name]
