"""The first batch of a loader, as the training will get it, without the loader noticing.

It is put together here from the loader's sampler, dataset and collate function: no iterator of the loader is
made, no worker started, and copies of its samplers are asked. Random numbers are put back.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from torch_debugger.model.nested_tensors import exchanged, first_tensor
from torch_debugger.model.reruns import keep_generators, keep_randomness
from torch_debugger.pictures.model_runs import Inputs
from torch_debugger.system.errors import UsageError

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


@contextlib.contextmanager
def loader_untouched(loader: Any) -> Iterator[None]:
    """Random numbers of its own, which decide the order of the next epoch, are put back."""
    put_back = keep_generators([loader])
    try:
        yield
    finally:
        for restore in put_back:
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
    if first and isinstance(first, (tuple, list)) and isinstance(first[0], str):
        return True
    # Labels: a number or a word for each sample, or a dictionary, as a detector has.
    targets = [each[0] for each in others if isinstance(each, (tuple, list)) and each]
    return any(isinstance(each, _PLAIN) for each in others) or any(
        isinstance(each, (Mapping, int, float, str)) for each in targets
    )


def is_dataset(source: Any) -> bool:
    mapped = hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, (list, tuple))
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
    if isinstance(source, (list, tuple)) and source:
        first = source[0]
        if isinstance(first, tuple) and len(first) > 1 and np.ndim(first[1]) == 0 and not isinstance(first[1], str):
            return default_collate(list(source[:most]))  # (image, label) pairs: the label is one number
    if isinstance(source, Iterable):
        return _some(iter(source), 1)[0]
    raise UsageError(f"expected a loader, a dataset or a batch, but got {type(source).__name__}.")


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
        # They end with the iterator, and the loader keeps those it has.
        loader_copy = copy.copy(loader)
        vars(loader_copy).update(_iterator=None, persistent_workers=False, num_workers=1)
        return _some(iter(loader_copy), 1)[0]


def _put_together(loader: DataLoader[Any]) -> Any:
    torch.empty((), dtype=torch.int64).random_(generator=loader.generator)  # a loader draws a seed first
    collate: Any = loader.collate_fn
    if isinstance(loader.dataset, IterableDataset):
        samples = iter(copy.copy(loader.dataset))
        one_by_one = loader.batch_size is None
        return collate(_some(samples, 1)[0] if one_by_one else _some(samples, loader.batch_size or 1))
    dataset: Any = loader.dataset
    sampler: Any = loader.batch_sampler if loader.batch_sampler is not None else loader.sampler
    if isinstance(sampler, Iterator):
        raise UsageError("the loader's sampler gives each index once: pass a batch instead, next(iter(loader)).")
    sampler = copy.copy(sampler)  # so that one which counts its passes counts none of ours
    inner: Any = getattr(sampler, "sampler", None)
    if hasattr(sampler, "sampler") and not isinstance(inner, Iterator):
        sampler.sampler = copy.copy(inner)
    indices = _some(iter(sampler), 1)[0]
    if loader.batch_sampler is None:
        return collate(dataset[indices])
    if callable(getattr(dataset, "__getitems__", None)):
        return collate(dataset.__getitems__(indices))
    return collate([dataset[index] for index in indices])


def _some(values: Iterator[Any], count: int) -> list[Any]:
    found = list(islice(values, count))
    if not found:
        raise UsageError("there is nothing to show: the loader, dataset or list gives no batch.")
    return found


# Batches of a loader, or inputs given by hand: what the model is called with, and labels of examples.
LABEL_KEYS = ("labels", "label", "targets", "target", "y")
_AT_ONCE = 64  # examples of inputs that were given by hand


class Batch(NamedTuple):
    inputs: Inputs
    labels: list[Any] | None  # one for each example
    examples: int
    attended: torch.Tensor | None  # [N, T], where padding is told by an attention mask


def batches(model: nn.Module, data: Any) -> Iterator[Batch]:
    """A tuple, a dictionary or a tensor is given by hand: one large batch, taken in parts."""
    if isinstance(data, (torch.Tensor, tuple)) or hasattr(data, "keys") or _is_one_batch(model, data):
        data = _batches_of_rows(dict(data) if hasattr(data, "keys") else data)
    elif isinstance(data, Dataset):
        data = DataLoader(data, batch_size=_AT_ONCE)
    elif not isinstance(data, Iterable):
        raise UsageError(f"expected a loader, a dataset or inputs, but got {type(data).__name__}.")
    for raw in data:
        yield _batch(model, raw)


def without_labels(model: nn.Module, raw: Any) -> Inputs:
    """What forward takes of a batch; what it has no place for is a label."""
    if not isinstance(raw, (tuple, list)):
        return raw
    try:
        inspect.signature(model.forward).bind(*raw)
    except TypeError:
        return tuple(raw[: _needed(model)])
    return raw


def _is_one_batch(model: nn.Module, data: Any) -> bool:
    """As loaders make them from pairs: a list of tensors. Of other things, or tensors alike, it is batches; so
    it is of sequences of tokens, each batch as long as its longest, for a model that takes one of them."""
    if not isinstance(data, list) or not all(isinstance(each, torch.Tensor) for each in data):
        return False
    are_tokens = all(each.dim() == 2 and not each.is_floating_point() for each in data)
    if are_tokens and _needed(model) == 1:
        return False
    return len({each.shape[1:] for each in data}) > 1


def _batches_of_rows(data: Any) -> Iterator[Any]:
    tensor = first_tensor(data)
    count = 0 if tensor is None or tensor.dim() == 0 else len(tensor)

    def part(start: int, tensor: torch.Tensor) -> torch.Tensor:
        return tensor[start : start + _AT_ONCE] if tensor.dim() and len(tensor) == count else tensor

    for start in range(0, count, _AT_ONCE):
        yield exchanged(data, functools.partial(part, start))


def _batch(model: nn.Module, raw: Any) -> Batch:
    attended = None
    if hasattr(raw, "keys"):
        inputs, labels = _from_names(model, dict(raw))
        attended = dict(raw).get("attention_mask")
    else:  # as many as forward cannot do without; what stands behind them is the label
        several = raw if isinstance(raw, (tuple, list)) else (raw,)
        taken = _needed(model)
        inputs, labels = tuple(several[:taken]), several[taken] if len(several) > taken else None
    tensor = first_tensor(inputs)
    if tensor is None or tensor.dim() == 0:
        raise UsageError(
            "the batch holds no tensor of examples: expected a tensor, a tuple such as (inputs, labels), "
            f"or a dictionary, but got {type(inputs).__name__}."
        )
    weight = next(model.parameters(), None)
    if weight is not None and weight.device.type != "meta":  # moved as the loop of a training does it
        inputs, attended = exchanged((inputs, attended), lambda each: each.to(weight.device))
    return Batch(inputs, _one_each(labels, len(tensor)), len(tensor), attended)


def _from_names(model: nn.Module, raw: dict[str, Any]) -> tuple[Inputs, Any]:
    """What forward has a name for; a dictionary of other names is taken as one input and its label."""
    labels = next((raw[key] for key in LABEL_KEYS if key in raw), None)
    rest = {key: value for key, value in raw.items() if key not in LABEL_KEYS}
    parameters = inspect.signature(model.forward).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return rest, labels
    known = {key: value for key, value in rest.items() if key in parameters}
    return (known, labels) if known else (list(rest.values())[:1], labels)


def _needed(model: nn.Module) -> int:
    """How many inputs forward cannot do without, by their places."""
    parameters = inspect.signature(model.forward).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return max(1, sum(each.kind in kinds and each.default is each.empty for each in parameters))


def _one_each(labels: Any, count: int) -> list[Any] | None:
    """None where there is not exactly one for each example, as for words or pixels; one-hot becomes a class."""
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().float().numpy() if labels.is_floating_point() else labels.cpu().numpy()
    if isinstance(labels, np.ndarray):
        are_classes = labels.ndim == 2 and labels.shape[1] > 1 and bool(((labels == 0) | (labels == 1)).all())
        if are_classes and (labels.sum(axis=1) == 1).all():
            labels = labels.argmax(axis=1)
        labels = labels.reshape(-1).tolist() if labels.size == count else None
    return list(labels) if isinstance(labels, (list, tuple)) and len(labels) == count else None
