"""`describe(tensor)`: one line that says what a tensor is and what it holds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.anatomy.nested import named_leaves
from torch_debugger.errors import UsageError
from torch_debugger.inspections.readings import Readings
from torch_debugger.stats.census import TensorStats, take_stats

_KINDS = (torch.Tensor, numpy.ndarray, numpy.generic)


def describe(value: Any) -> TensorStats | Readings:
    """What a tensor is and what it holds, in one line; of a batch, one line for each tensor in it.

        >>> describe(torch.linspace(-1, 1, 5))
        float32 [5] cpu  min -1  max 1  mean 0  std 0.7071  zeros 20 %  |█ █  █ █ █|

    NaN and Inf are counted and left out of the other numbers. The result has them as attributes:
    `describe(x).std`. Takes tensors of every kind, numpy arrays, and dictionaries, lists, tuples and
    dataclasses of them.
    """
    if isinstance(value, _KINDS):
        return shown_where_bare(_of_one(value))
    found = {_plain(way): _of_one(leaf) for way, leaf in named_leaves(value, _KINDS)}
    if not found:
        name = type(value).__name__
        got = f"a {name} that holds none" if isinstance(value, (dict, list, tuple)) else name
        raise UsageError(f"describe() takes a tensor, an array, or several in a dict or list, not {got}.")
    return shown_where_bare(Readings(found, root=""))


def _plain(way: str) -> str:
    """ "['image']" is `image` to its owner."""
    inner = way[2:-2]
    return inner if way == f"['{inner}']" and "'" not in inner else way


def _of_one(value: Any) -> TensorStats:
    if isinstance(value, torch.Tensor):
        return take_stats(value)
    value = numpy.asarray(value)
    head = TensorStats(value.shape, str(value.dtype), "numpy")
    if value.dtype.kind not in "biufc":
        return dataclasses.replace(head, remarks=("no numbers",))
    counted = take_stats(torch.tensor(_for_torch(value)))
    return dataclasses.replace(counted, dtype=str(value.dtype), device="numpy")


def _for_torch(array: Any) -> Any:
    """In the byte order and the precision that torch has."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(numpy.float64)
    return numpy.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)
