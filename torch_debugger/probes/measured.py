"""Tensors measured in one deep step, gathered into tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch

from torch_debugger.records import Table
from torch_debugger.stats import underflow
from torch_debugger.stats.summary import COLUMNS, measure
from torch_debugger.stats.unseen import no_grad


class Measured(NamedTuple):
    numbers: torch.Tensor
    dtype: torch.dtype


@no_grad()
def take_numbers(tensor: torch.Tensor) -> Measured:
    numbers = measure(tensor)
    if underflow.can_underflow(tensor):
        numbers = torch.cat((numbers, underflow.measure_underflow(tensor)))
    return Measured(numbers, tensor.dtype)


def tables(
    kind: str, measured: Mapping[str, Measured], columns: tuple[str, ...] = (*COLUMNS, *underflow.COLUMNS)
) -> Iterator[tuple[Table, torch.Tensor]]:
    """One table a device, and its values there; with the last columns only where a tensor has them."""
    by_device: dict[torch.device, list[str]] = {}
    for path, tensor in measured.items():
        by_device.setdefault(tensor.numbers.device, []).append(path)
    for paths in by_device.values():
        dtypes = tuple(str(measured[path].dtype).removeprefix("torch.") for path in paths)
        values = _even([measured[path].numbers for path in paths])
        yield Table(kind, paths[0].split(".")[0], tuple(paths), columns[: values.shape[1]], dtypes), values


def _even(numbers: list[torch.Tensor]) -> torch.Tensor:
    """Rows of one length: NaN in the columns that only some of the tensors have."""
    width = max(map(len, numbers))
    return torch.stack([row if len(row) == width else _filled(row, width) for row in numbers])


def _filled(row: torch.Tensor, width: int) -> torch.Tensor:
    return torch.cat((row, row.new_full((width - len(row),), math.nan)))
