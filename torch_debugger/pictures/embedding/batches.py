"""Batches of a loader, or inputs given by hand: what the model is called with, and labels of examples."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from torch_debugger.anatomy.nested import exchanged, first_tensor
from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import Inputs

LABEL_KEYS = ("labels", "label", "targets", "target", "y")
_AT_ONCE = 64  # examples of inputs that were given by hand


class Batch(NamedTuple):
    inputs: Inputs
    labels: list[Any] | None  # one for each example
    examples: int
    attended: torch.Tensor | None  # [N, T], where padding is told by an attention mask


def batches(model: nn.Module, data: Any) -> Iterator[Batch]:
    for raw in _raw_batches(model, data):
        yield _batch(model, raw)


def without_labels(model: nn.Module, raw: Any) -> Inputs:
    """What forward takes of a batch; what it has no place for is a label."""
    if not isinstance(raw, (tuple, list)) or _can_take(model, len(raw)):
        return raw
    return _from_places(model, raw)[0]


def _can_take(model: nn.Module, count: int) -> bool:
    try:
        inspect.signature(model.forward).bind(*range(count))
    except TypeError:
        return False
    return True


def _raw_batches(model: nn.Module, data: Any) -> Iterable[Any]:
    """A tuple, a dictionary or a tensor is given by hand: one large batch, taken in parts."""
    if isinstance(data, (torch.Tensor, tuple)) or hasattr(data, "keys") or _is_one_batch(model, data):
        return _parts(dict(data) if hasattr(data, "keys") else data)
    if isinstance(data, Dataset):
        return DataLoader(data, batch_size=_AT_ONCE)
    if not isinstance(data, Iterable):
        raise UsageError(f"expected a loader, a dataset or inputs, but got {type(data).__name__}.")
    return data


def _is_one_batch(model: nn.Module, data: Any) -> bool:
    """As loaders make them from pairs: a list of tensors. Of other things, or tensors alike, it is batches; so
    it is of sequences of tokens, each batch as long as its longest, for a model that takes one of them."""
    if not isinstance(data, list) or not all(isinstance(each, torch.Tensor) for each in data):
        return False
    are_tokens = all(each.dim() == 2 and not each.is_floating_point() for each in data)
    if are_tokens and _needed(model) == 1:
        return False
    return len({each.shape[1:] for each in data}) > 1


def _parts(data: Any) -> Iterator[Any]:
    tensor = first_tensor(data)
    count = 0 if tensor is None or tensor.dim() == 0 else len(tensor)
    for start in range(0, count, _AT_ONCE):
        yield exchanged(data, functools.partial(_part, start, count))


def _part(start: int, count: int, tensor: torch.Tensor) -> torch.Tensor:
    is_whole = tensor.dim() == 0 or len(tensor) != count
    return tensor if is_whole else tensor[start : start + _AT_ONCE]


def _batch(model: nn.Module, raw: Any) -> Batch:
    if hasattr(raw, "keys"):
        inputs, labels = _from_names(model, dict(raw))
        attended = dict(raw).get("attention_mask")
    else:
        inputs, labels = _from_places(model, raw if isinstance(raw, (tuple, list)) else (raw,))
        attended = None
    count = _count(inputs)
    return Batch(inputs, _one_each(labels, count), count, attended)


def _from_names(model: nn.Module, raw: dict[str, Any]) -> tuple[Inputs, Any]:
    """What forward has a name for; a dictionary of other names is taken as one input and its label."""
    labels = next((raw[key] for key in LABEL_KEYS if key in raw), None)
    rest = {key: value for key, value in raw.items() if key not in LABEL_KEYS}
    parameters = inspect.signature(model.forward).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return rest, labels
    known = {key: value for key, value in rest.items() if key in parameters}
    return (known, labels) if known else (list(rest.values())[:1], labels)


def _from_places(model: nn.Module, raw: tuple[Any, ...] | list[Any]) -> tuple[Inputs, Any]:
    """As many as forward cannot do without; what stands behind them is the label."""
    taken = _needed(model)
    return tuple(raw[:taken]), (raw[taken] if len(raw) > taken else None)


def _needed(model: nn.Module) -> int:
    """How many inputs forward cannot do without, by their places."""
    parameters = inspect.signature(model.forward).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return max(1, sum(each.kind in kinds and each.default is each.empty for each in parameters))


def _count(inputs: Inputs) -> int:
    tensor = first_tensor(inputs)
    if tensor is None or tensor.dim() == 0:
        raise UsageError(
            "the batch holds no tensor of examples: expected a tensor, a tuple such as (inputs, labels), "
            f"or a dictionary, but got {type(inputs).__name__}."
        )
    return len(tensor)


def _one_each(labels: Any, count: int) -> list[Any] | None:
    """None where there is not exactly one for each example, as for words or pixels; one-hot becomes a class."""
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().float().numpy() if labels.is_floating_point() else labels.cpu().numpy()
    if isinstance(labels, np.ndarray):
        if labels.ndim == 2 and labels.shape[1] > 1 and _is_one_hot(labels):
            labels = labels.argmax(axis=1)
        labels = labels.reshape(-1).tolist() if labels.size == count else None
    return list(labels) if isinstance(labels, (list, tuple)) and len(labels) == count else None


def _is_one_hot(rows: np.ndarray[Any, Any]) -> bool:
    return bool(((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all())
