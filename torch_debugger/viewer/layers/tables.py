"""A run has few headings and very many tables: what only depends on the heading is worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import Table, TensorRows
from torch_debugger.viewer.layers.parameters import owner_of

_Made = TypeVar("_Made")


def once_per_table(make: Callable[[Table], _Made]) -> Callable[[Table], _Made]:
    """By identity: to compare thousands of names takes longer than what is saved."""
    known: dict[int, tuple[Table, _Made]] = {}  # the table is kept, so that no other gets its id

    def find(table: Table) -> _Made:
        if id(table) not in known:
            known[id(table)] = (table, make(table))
        return known[id(table)][1]

    return find


def only_layer(layer: str) -> Callable[[TensorRows], TensorRows | None]:
    """Makes of a table one with the rows of a single layer and its parameters; None where it has none."""

    def choose(table: Table) -> tuple[Table, NDArray[np.int64]]:
        by_owner = table.kind in ("parameter", "update")
        names = [(owner_of(name) if by_owner else name) == layer for name in table.names]
        places = np.flatnonzero(names)
        shown = tuple(table.names[place] for place in places)
        dtypes = tuple(table.dtypes[place] for place in places) if table.dtypes else ()
        return Table(table.kind, table.root, shown, table.columns, dtypes), places

    chosen = once_per_table(choose)

    def narrow(rows: TensorRows) -> TensorRows | None:
        table, places = chosen(rows.table)
        return TensorRows(rows.step, table, rows.values[places]) if len(places) else None

    return narrow
