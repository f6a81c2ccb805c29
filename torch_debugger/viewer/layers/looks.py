"""Every look at the layers of a run, read in one pass over its log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from torch_debugger.archive.run import Run
from torch_debugger.records import Record, Squasher, Table, TensorRows
from torch_debugger.viewer.layers.numbers import LAYER_NUMBERS, Values
from torch_debugger.viewer.layers.parameters import PARAMETER_NUMBERS, layers_of
from torch_debugger.viewer.layers.tables import once_per_table, only_layer


class Described(Protocol):
    """What is told of a number, wherever it is read from."""

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def scale(self) -> str: ...
    @property
    def says(self) -> str: ...


@dataclass(frozen=True)
class Saturation:
    key: str = "saturation"
    title: str = "Saturation"
    unit: str = "share"
    scale: str = "share"
    says: str = "The share of the sigmoid's or tanh's values behind a layer that lie next to its limits."


SATURATION = Saturation()
_BY_PLACE: tuple[Described, ...] = (
    *LAYER_NUMBERS[:3], SATURATION, LAYER_NUMBERS[3], *PARAMETER_NUMBERS, *LAYER_NUMBERS[4:],
)  # fmt: skip
NUMBERS: dict[str, Described] = {number.key: number for number in _BY_PLACE}


class Look(NamedTuple):
    number: str
    step: int
    layers: tuple[str, ...]
    values: Values


@dataclass
class Gathered:
    looks: dict[str, list[Look]] = field(default_factory=dict)  # by number
    order: dict[str, None] = field(default_factory=dict)  # layers, as they ran


def gather(run: Run, wanted: Collection[str] = tuple(NUMBERS), only: str | None = None) -> Gathered:
    """Of all layers, or of one."""
    found = Gathered()
    waiting: dict[str, TensorRows] = {}  # by optimizer: its parameters, until their update is told
    note_order = once_per_table(lambda table: found.order.update(dict.fromkeys(table.names)))
    narrow = only_layer(only) if only is not None else None
    for record in run.records(TensorRows, Squasher):
        if isinstance(record, TensorRows) and record.table.kind == "activation":
            note_order(record.table)
        shown = narrow(record) if narrow is not None and isinstance(record, TensorRows) else record
        for look in _looks_in(shown, waiting, frozenset(wanted)) if shown is not None else ():
            found.looks.setdefault(look.number, []).append(look)
    return found


def layers_with(run: Run) -> dict[str, list[str]]:
    """By number: the layers that have it. No number is read for that."""
    found: dict[str, dict[str, None]] = {key: {} for key in NUMBERS}
    note = once_per_table(lambda table: _note_names(found, table))
    for record in run.records(TensorRows, Squasher):
        if isinstance(record, Squasher):
            found[SATURATION.key][record.source] = None
        elif isinstance(record, TensorRows):
            note(record.table)
    return {key: list(names) for key, names in found.items()}


def _note_names(found: dict[str, dict[str, None]], table: Table) -> None:
    for number in LAYER_NUMBERS:
        if table.kind in number.kinds:
            found[number.key].update(dict.fromkeys(table.names))
    for each in PARAMETER_NUMBERS:
        if table.kind == ("update" if each.key == "update.ratio" else "parameter"):
            found[each.key].update(dict.fromkeys(layers_of(table.names)[0]))


def _looks_in(record: Record, waiting: dict[str, TensorRows], wanted: frozenset[str]) -> Iterator[Look]:
    if isinstance(record, Squasher):
        if SATURATION.key in wanted:
            yield Look(SATURATION.key, record.step, (record.source,), np.array([record.saturated]))
    elif isinstance(record, TensorRows):
        if record.table.kind == "parameter":
            waiting[record.table.root] = record
        yield from _of_layers(record, wanted)
        yield from _of_parameters(record, waiting.get(record.table.root), wanted)


def _of_layers(rows: TensorRows, wanted: frozenset[str]) -> Iterator[Look]:
    for number in LAYER_NUMBERS:
        if number.key in wanted and rows.table.kind in number.kinds:
            yield Look(number.key, rows.step, rows.table.names, number.read(rows))


def _of_parameters(rows: TensorRows, before: TensorRows | None, wanted: frozenset[str]) -> Iterator[Look]:
    update = rows if rows.table.kind == "update" else None
    if before is None or before.step != rows.step or rows.table.kind not in ("parameter", "update"):
        return
    layers, _ = layers_of(before.table.names)
    for number in PARAMETER_NUMBERS:
        if number.key in wanted and (number.key == "update.ratio") == (update is not None):
            yield Look(number.key, rows.step, layers, number.read(before, update))
