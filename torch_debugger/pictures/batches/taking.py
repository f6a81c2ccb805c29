"""The first batch of a loader, as the training will get it, without the loader noticing.

It is put together here from the loader's sampler, dataset and collate function: no iterator of the loader is
made, no worker started, and copies of its samplers are asked. Random numbers are put back.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from torch_debugger.anatomy.randomness import keep_randomness
from torch_debugger.errors import UsageError

_PLAIN = (torch.Tensor, np.ndarray, str, bytes)


def take_batch(source: Any, most: int) -> Any:
    """Of a loader or a list of batches its first; of a dataset some samples, collated; a batch is itself."""
    if is_batch(source):
        return source
    restore = keep_randomness([source, *_parts(source)])
    try:
        return _first(source, most)
    finally:
        restore()


def is_batch(source: Any) -> bool:
    """A tensor, a dictionary, (inputs, labels); a list of such things is a list of batches."""
    if isinstance(source, _PLAIN) or hasattr(source, "keys"):
        return True
    if not isinstance(source, (list, tuple)) or not source:
        return False
    first, others = source[0], source[1:]
    if not isinstance(first, (tuple, list, Mapping)):
        return True
    texts = bool(first) and isinstance(first, (tuple, list)) and isinstance(first[0], str)
    return texts or any(isinstance(each, _PLAIN) or _are_targets(each) for each in others)


def _are_targets(value: Any) -> bool:
    """A number or a word for each sample, or a dictionary, as a detector has."""
    return isinstance(value, (tuple, list)) and bool(value) and isinstance(value[0], (Mapping, int, float, str))


def is_dataset(source: Any) -> bool:
    mapped = (
        hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, (list, tuple))
    )
    return isinstance(source, Dataset) or (mapped and not is_batch(source))


def evenly_spaced(count: int, most: int) -> list[int]:
    return [int(place) for place in np.unique(np.linspace(0, count - 1, min(most, count)).round())]


def _parts(source: Any) -> list[Any]:
    dataset = getattr(source, "dataset", source)
    return [dataset, getattr(dataset, "transform", None)]


def _first(source: Any, most: int) -> Any:
    if isinstance(source, DataLoader):
        return _of_loader(source)
    if isinstance(source, IterableDataset):
        return default_collate(_some(iter(copy.copy(source)), most))
    if is_dataset(source):
        return default_collate([source[index] for index in evenly_spaced(len(source), most)])
    if isinstance(source, Iterator):
        raise UsageError(
            f"a {type(source).__name__} gives each batch once, and showing one would take it away: "
            "pass the loader it was made from, or a batch."
        )
    if isinstance(source, (list, tuple)) and source and _are_samples(source):
        return default_collate(list(source[:most]))
    if isinstance(source, Iterable):
        return _some(iter(source), 1)[0]
    raise UsageError(f"expected a loader, a dataset or a batch, but got {type(source).__name__}.")


def _are_samples(source: Any) -> bool:
    """(image, label) pairs: the label is one number."""
    first = source[0]
    return (
        isinstance(first, tuple) and len(first) > 1 and np.ndim(first[1]) == 0 and not isinstance(first[1], str)
    )


def _of_loader(loader: DataLoader[Any]) -> Any:
    if type(loader).__iter__ is not DataLoader.__iter__:  # a kind of its own: only it knows how
        return _some(iter(copy.copy(loader)), 1)[0]
    if not loader.num_workers:
        return _put_together(loader)
    restore = keep_randomness([loader, *_parts(loader)])
    try:
        return _put_together(loader)
    except Exception:  # a dataset that only works in a worker; if it does not there, that is the user's to see
        restore()
        return _some(iter(_with_workers_of_its_own(loader)), 1)[0]


def _put_together(loader: DataLoader[Any]) -> Any:
    torch.empty((), dtype=torch.int64).random_(generator=loader.generator)  # a loader draws a seed first
    collate: Any = loader.collate_fn
    if isinstance(loader.dataset, IterableDataset):
        samples = iter(copy.copy(loader.dataset))
        one_by_one = loader.batch_size is None
        return collate(_some(samples, 1)[0] if one_by_one else _some(samples, loader.batch_size or 1))
    dataset: Any = loader.dataset
    sampler = _copied(loader.batch_sampler if loader.batch_sampler is not None else loader.sampler)
    indices = _some(iter(sampler), 1)[0]
    if loader.batch_sampler is None:
        return collate(dataset[indices])
    if callable(getattr(dataset, "__getitems__", None)):
        return collate(dataset.__getitems__(indices))
    return collate([dataset[index] for index in indices])


def _copied(sampler: Any) -> Any:
    """So that one which counts its passes counts none of ours."""
    if isinstance(sampler, Iterator):
        raise UsageError(
            "the loader's sampler gives each index once: pass a batch instead, next(iter(loader))."
        )
    twin = copy.copy(sampler)
    if hasattr(twin, "sampler") and not isinstance(twin.sampler, Iterator):
        twin.sampler = copy.copy(twin.sampler)
    return twin


def _with_workers_of_its_own(loader: DataLoader[Any]) -> DataLoader[Any]:
    """They end with the iterator, and the loader keeps those it has."""
    twin = copy.copy(loader)
    vars(twin).update(_iterator=None, persistent_workers=False, num_workers=1)
    return twin


def _some(values: Iterator[Any], count: int) -> list[Any]:
    found = list(islice(values, count))
    if not found:
        raise UsageError("there is nothing to show: the loader, dataset or list gives no batch.")
    return found
