"""Many tensors, a few numbers each, at one step: the form in which layer health is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    import numpy.typing


# The columns of the tables whose kind ends in _spread: closer together towards both ends.
QUANTILES = (
    0.0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
    0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.995, 1.0,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The heading of a table of rows: written once, referred to by every row."""

    # activation | output_gradient | range (of float16 activations) | parameter | update
    # | activation_spread | weight_spread | gradient_spread
    kind: str
    root: str
    names: tuple[str, ...]  # in execution order where one is known
    columns: tuple[str, ...]
    dtypes: tuple[str, ...] = ()  # of each tensor, where their ranges matter: float16


@dataclass(frozen=True, slots=True, eq=False)
class TensorRows:
    """One table filled at one step: values[tensor, column], float32, NaN where unknown."""

    step: int
    table: Table
    values: numpy.typing.NDArray[numpy.float32]

    def column(self, name: str) -> list[float]:
        index = self.table.columns.index(name)
        return [float(value) for value in self.values[:, index]]

    def by_name(self, column: str) -> dict[str, float]:
        return dict(zip(self.table.names, self.column(column), strict=True))
