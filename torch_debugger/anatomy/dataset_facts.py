"""What a dataset tells of itself: how much it holds, in which form, of which classes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy
import torch
from torch.utils.data import Subset

from torch_debugger.anatomy.growing import size_of
from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.records import HeldData

_MOST = 16
_MANY, _WEIGHED = 10_000, 200  # objects in a list: so many are weighed, and so few of them
_MOST_CLASSES, _LONGEST_NAME = 1000, 60


def base_of(dataset: Any) -> Any:
    """The dataset that a part is a part of."""
    for _ in range(8):
        if not is_a(dataset, Subset):
            break
        dataset = dataset.dataset
    return dataset


def class_names(dataset: Any) -> tuple[str, ...]:
    """As datasets of torchvision have them. Looked up without running a property of the user's."""
    names = inspect.getattr_static(dataset, "classes", ())
    plain = is_one_of(names, (list, tuple)) and all(type(name) is str for name in names[:_MOST_CLASSES])
    return tuple(name[:_LONGEST_NAME] for name in names[:_MOST_CLASSES]) if plain else ()


def sample_count(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:  # a stream
        return None


def batch_count(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:  # a dataset without a length
        return None


def data_held_by(dataset: Any, samples: int | None) -> tuple[HeldData, ...]:
    """Attributes with as many entries as there are samples, read without running anything of the user's; of a
    TensorDataset, its tensors."""
    if is_a(dataset, torch.utils.data.TensorDataset):
        return tuple(_described(f"tensors[{at}]", tensor) for at, tensor in enumerate(dataset.tensors[:_MOST]))
    found = []
    for name, value in list(own_attributes(dataset).items())[:_MOST]:
        plain = is_one_of(value, (list, tuple)) or is_a(value, numpy.ndarray) or is_a(value, torch.Tensor)
        if plain and _length(value) >= max(2, samples or 2):
            found.append(_described(name, value))
    return tuple(found)


def _objects_bytes(values: Any) -> int:
    """0 where there are too few to matter; else from a few of them, spread over all."""
    if len(values) < _MANY:
        return 0
    some = values[:: len(values) // _WEIGHED]
    return len(values) * (sum(size_of(value) for value in some) // len(some) + 8)


def _length(value: Any) -> int:
    if is_a(value, numpy.ndarray) or is_a(value, torch.Tensor):
        return int(value.shape[0]) if value.ndim else 0
    return len(value)


def _described(name: str, value: Any) -> HeldData:
    kind = "Tensor" if is_a(value, torch.Tensor) else type(value).__name__
    if is_one_of(value, (list, tuple)):
        return HeldData(name, kind, len(value), type(value[0]).__name__, objects_bytes=_objects_bytes(value))
    return HeldData(name, kind, _length(value), "", int(value.nbytes) // max(1, _length(value)))
