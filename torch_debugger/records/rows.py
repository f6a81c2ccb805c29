"""Many tensors, a few numbers each, at one step: the form in which layer health is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    import numpy.typing


@dataclass(frozen=True, slots=True)
class Table:
    """The heading of a table of rows: written once, referred to by every row."""

    kind: str  # activation | output_gradient | range (of float16 activations) | parameter | update
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
