"""Every look at the layers of a run, read in one pass over its log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.run import Run
from torch_debugger.records import Record, Squasher, Table, TensorRows
from torch_debugger.viewer.questions import UNMEASURED

# What can be told of a layer at a step: each number, and how it is read from the tables of a run.
Values = NDArray[np.float64]

# The largest number of a type; those that are not here reach as far as float32.
_LARGEST = {"float16": 65504.0, "float64": float(np.finfo(np.float64).max)}
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_SMALLEST_FLOAT16 = 2.0**-24


@dataclass(frozen=True)
class Described:
    """What is told of a number, wherever it is read from."""

    key: str
    title: str
    unit: str
    scale: str  # log | share (0 to 1) | signed (zero is the middle) | bits (it is, where some lie below)
    says: str  # one sentence: what is counted


@dataclass(frozen=True)
class Number(Described):
    kinds: tuple[str, ...]  # of the tables it is read from
    read: Callable[[TensorRows], Values]


def _column(name: str) -> Callable[[TensorRows], Values]:
    return lambda rows: _values(rows, name)


def _values(rows: TensorRows, column: str) -> Values:
    return rows.values[:, rows.table.columns.index(column)].astype(np.float64)


def _size(rows: TensorRows) -> Values:
    """Root of the mean square."""
    return np.hypot(_values(rows, "mean"), _values(rows, "std"))


def _largest(rows: TensorRows) -> Values:
    return np.maximum(np.abs(_values(rows, "min")), np.abs(_values(rows, "max")))


def _own_headroom(rows: TensorRows) -> Values:
    types = rows.table.dtypes or ("float32",) * len(rows.table.names)
    limits = np.array([_LARGEST.get(each, _LARGEST_FLOAT32) for each in types])
    return _bits(_largest(rows), limits)


def _half_depth(rows: TensorRows) -> Values:
    sizes = _size(rows)
    return _bits(np.full_like(sizes, _SMALLEST_FLOAT16), sizes)


def _bits(small: Values, large: Values) -> Values:
    """How often the small one can be doubled until it is the large one; what is zero has no such number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((small == 0) | (large == 0), UNMEASURED, np.log2(large) - np.log2(small))


OUTPUTS = ("activation",)
GRADIENTS = ("output_gradient",)
LAYER_NUMBERS = (
    Number("activation.mean", "Mean of outputs", "", "signed",
           "The mean of everything a layer put out in one forward.", OUTPUTS, _column("mean")),
    Number("activation.std", "Deviation of outputs", "", "log",
           "The standard deviation of everything a layer put out in one forward.", OUTPUTS, _column("std")),
    Number("activation.zeros", "Zeros in outputs", "share", "share",
           "The share of a layer's outputs that are exactly zero.", OUTPUTS, _column("zeros")),
    Number("gradient.size", "Gradient of outputs", "", "log",
           "How large the gradient that came back to a layer's output was: the root of its mean square.",
           GRADIENTS, _size),
    Number("headroom.own", "Headroom", "bits", "bits",
           "How often a layer's largest output could double before it overflows the type it is kept in.",
           ("activation", "range"), _own_headroom),
    Number("headroom.float16", "Headroom in float16", "bits", "bits",
           "How often a layer's largest output could double before it would overflow float16 (65504). "
           "Below zero: it does not fit.", ("activation", "range"),
           lambda rows: _bits(_largest(rows), np.array(_LARGEST["float16"]))),
    Number("depth.float16", "Gradient room in float16", "bits", "bits",
           "How often the gradient of a layer's output could be halved before float16 would make zero of it. "
           "Below zero: most of it is lost without a loss scale.", GRADIENTS, _half_depth),
)  # fmt: skip


# The numbers of parameters, taken together by the layer that owns them.
SAMPLED = 4096  # elements; of larger tensors that many were compared before and after an update


@dataclass(frozen=True)
class ParameterNumber(Described):
    read: Callable[[TensorRows, TensorRows | None], Values]  # of the parameters, and of their update


def _norm_of(column: str) -> Callable[[TensorRows, TensorRows | None], Values]:
    return lambda rows, update: together(rows.table.names, _values(rows, column))


def _ratio(rows: TensorRows, update: TensorRows | None) -> Values:
    names = rows.table.names
    assert update is not None
    changes = update.by_name("change")
    elements = np.maximum(_values(rows, "elements"), 1.0)
    whole = np.sqrt(elements / np.minimum(elements, SAMPLED))
    moved = together(names, np.array([changes.get(name, 0.0) for name in names]) * whole)
    sizes = together(names, _values(rows, "weight_norm"))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes == 0, UNMEASURED, moved / sizes)


def together(names: tuple[str, ...], values: Values) -> Values:
    """One norm a layer from those of its parameters."""
    layers, owner = layers_of(names)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.sqrt(np.bincount(owner, values * values, len(layers)))


@lru_cache(maxsize=64)
def layers_of(names: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The layers that own these parameters, and of each parameter the place of its layer among them."""
    owners = [owner_of(name) for name in names]
    layers = list(dict.fromkeys(owners))
    places = {layer: place for place, layer in enumerate(layers)}
    return tuple(layers), np.array([places[owner] for owner in owners], np.int64)


def owner_of(parameter: str) -> str:
    return parameter.rpartition(".")[0] or parameter


PARAMETER_NUMBERS = (
    ParameterNumber("parameter.gradient", "Gradient of weights", "", "log",
                    "The norm of the gradient of all parameters of a layer, before the update.",
                    _norm_of("grad_norm")),
    ParameterNumber("parameter.weight", "Size of weights", "", "log",
                    "The norm of all parameters of a layer, before the update.", _norm_of("weight_norm")),
    ParameterNumber("update.ratio", "Update / weights", "", "log",
                    "How far one update moved the parameters of a layer, as a part of their norm.", _ratio),
)  # fmt: skip


SATURATION = Described(
    "saturation", "Saturation", "share", "share",
    "The share of the sigmoid's or tanh's values behind a layer that lie next to its limits.",
)  # fmt: skip
_BY_PLACE: tuple[Described, ...] = (
    *LAYER_NUMBERS[:3], SATURATION, LAYER_NUMBERS[3], *PARAMETER_NUMBERS, *LAYER_NUMBERS[4:],
)  # fmt: skip
NUMBERS: dict[str, Described] = {number.key: number for number in _BY_PLACE}


class LayerLook(NamedTuple):
    number: str
    step: int
    layers: tuple[str, ...]
    values: Values


@dataclass
class GatheredLooks:
    looks: dict[str, list[LayerLook]] = field(default_factory=dict)  # by number
    order: dict[str, None] = field(default_factory=dict)  # layers, as they ran


def gather(run: Run, wanted: Collection[str] = tuple(NUMBERS), only: str | None = None) -> GatheredLooks:
    """Of all layers, or of one."""
    found = GatheredLooks()
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

    def note_names(table: Table) -> None:
        for number in LAYER_NUMBERS:
            if table.kind in number.kinds:
                found[number.key].update(dict.fromkeys(table.names))
        for each in PARAMETER_NUMBERS:
            if table.kind == ("update" if each.key == "update.ratio" else "parameter"):
                found[each.key].update(dict.fromkeys(layers_of(table.names)[0]))

    note = once_per_table(note_names)
    for record in run.records(TensorRows, Squasher):
        if isinstance(record, Squasher):
            found[SATURATION.key][record.source] = None
        elif isinstance(record, TensorRows):
            note(record.table)
    return {key: list(names) for key, names in found.items()}


def _looks_in(record: Record, waiting: dict[str, TensorRows], wanted: frozenset[str]) -> Iterator[LayerLook]:
    if isinstance(record, Squasher):
        if SATURATION.key in wanted:
            yield LayerLook(SATURATION.key, record.step, (record.source,), np.array([record.saturated]))
    elif isinstance(record, TensorRows):
        if record.table.kind == "parameter":
            waiting[record.table.root] = record
        for number in LAYER_NUMBERS:
            if number.key in wanted and record.table.kind in number.kinds:
                yield LayerLook(number.key, record.step, record.table.names, number.read(record))
        yield from _of_parameters(record, waiting.get(record.table.root), wanted)


def _of_parameters(rows: TensorRows, before: TensorRows | None, wanted: frozenset[str]) -> Iterator[LayerLook]:
    update = rows if rows.table.kind == "update" else None
    if before is None or before.step != rows.step or rows.table.kind not in ("parameter", "update"):
        return
    layers, _ = layers_of(before.table.names)
    for number in PARAMETER_NUMBERS:
        if number.key in wanted and (number.key == "update.ratio") == (update is not None):
            yield LayerLook(number.key, rows.step, layers, number.read(before, update))


# A run has few headings and very many tables: what only depends on the heading is worked out once.
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
