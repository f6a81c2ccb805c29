"""The numbers of parameters, taken together by the layer that owns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import TensorRows
from torch_debugger.viewer.grids import UNMEASURED
from torch_debugger.viewer.layers.numbers import Values

SAMPLED = 4096  # elements; of larger tensors that many were compared before and after an update


@dataclass(frozen=True)
class ParameterNumber:
    key: str
    title: str
    unit: str
    scale: str
    says: str
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


def _values(rows: TensorRows, column: str) -> Values:
    return rows.values[:, rows.table.columns.index(column)].astype(np.float64)


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
