"""What a batch is made of: inputs of some kind, and their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from torch_debugger.errors import UsageError

IMAGES, TOKENS, TEXTS, SERIES, TABLE = "images", "tokens", "texts", "series", "table"
KINDS = (IMAGES, TOKENS, TEXTS, SERIES, TABLE)
_INPUTS = (
    "pixel_values", "image", "images", "img", "input_ids", "tokens", "input_values", "input_features", "x",
    "inputs", "input", "features", "data", "audio", "signal", "series", "text",
)  # fmt: skip
_LABELS = ("labels", "label", "targets", "target", "y", "class", "classes")
_LONG = 32  # columns from which a table may be a series
_SMOOTH = 0.5  # correlation of neighbours in a series; those of a table have none


@dataclass(frozen=True)
class Parts:
    kind: str
    inputs: Any  # an array with the samples first; a list where they differ in size, or are texts
    labels: Any = None  # an array or a list with the samples first
    dtype: str = ""
    columns: tuple[str, ...] = ()  # names, of a table

    def __len__(self) -> int:
        return len(self.inputs)


def read_parts(batch: Any, kind: str | None = None) -> Parts:
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind= is one of {', '.join(KINDS)}, not {kind!r}.")
    inputs, labels, columns = _split(batch)
    values = _one_image_as_batch(as_numbers(inputs), alone=inputs is batch)
    _check(values)
    dtype = str(getattr(inputs, "dtype", "")).removeprefix("torch.")
    found = kind or _kind(values)
    if found == TABLE and values.ndim == 1:
        values = values[:, None]
    return Parts(found, values, None if labels is None else as_numbers(labels), dtype, columns)


def _one_image_as_batch(values: Any, alone: bool) -> Any:
    """A tensor [channels, height, width] that comes without labels."""
    if not alone or not isinstance(values, np.ndarray) or values.ndim != 3 or values.shape[0] not in (1, 3):
        return values
    height, width = values.shape[1:]
    return values[None] if min(height, width) >= 8 and 0.5 <= height / width <= 2 else values


def _check(values: Any) -> None:
    if isinstance(values, list):
        if not isinstance(values[0], str) and any(np.ndim(each) < 2 for each in values):
            raise UsageError(
                "the samples differ in length: pad them into one tensor, as a collate function can."
            )
    elif np.ndim(values) == 0 and not isinstance(values, str):
        raise UsageError("expected a batch with the samples along its first dimension, but got a single value.")


def _split(batch: Any) -> tuple[Any, Any, tuple[str, ...]]:
    if hasattr(batch, "keys"):
        return _split_mapping(dict(batch))
    if isinstance(batch, (tuple, list)) and batch and _is_data(batch[0]) and not isinstance(batch[0], str):
        if _are_single(batch):
            return batch, None, ()
        inputs, labels, columns = _split(batch[0])
        are_pairs = isinstance(batch[0], (tuple, list))  # ((one, other), label): what stands inside is no label
        return inputs, batch[1] if len(batch) > 1 and (are_pairs or labels is None) else labels, columns
    if _is_data(batch):
        return batch, None, ()
    raise UsageError(f"expected a batch of tensors, arrays, images or texts, but got {type(batch).__name__}.")


def _split_mapping(batch: dict[str, Any]) -> tuple[Any, Any, tuple[str, ...]]:
    label = next((name for name in _LABELS if name in batch), None)
    labels = batch.get(label) if label is not None else None
    rest = {str(name): value for name, value in batch.items() if name != label and _is_data(value)}
    if not rest:
        raise UsageError(f"this batch has no tensors to show: its keys are {', '.join(map(str, batch))}.")
    name = next((name for name in _INPUTS if name in rest), None)
    if name is None and all(np.ndim(value) == 1 for value in rest.values()):  # a table, column by column
        stacked = np.stack([np.asarray(as_numbers(value), dtype=np.float32) for value in rest.values()], axis=1)
        return stacked, labels, tuple(rest)
    return rest[name or next(iter(rest))], labels, ()


def _is_data(value: Any) -> bool:
    if isinstance(value, (torch.Tensor, np.ndarray, Image.Image, str)):
        return True
    return isinstance(value, (list, tuple, Mapping)) and len(value) > 0


def _are_single(batch: Sequence[Any]) -> bool:
    """Images of any sizes, not inputs and labels."""
    if isinstance(batch[0], Image.Image):
        return True
    shapes = [np.shape(each) for each in batch if isinstance(each, (torch.Tensor, np.ndarray))]
    forms = [len(shape) == 3 and (shape[0] in (1, 3) or shape[2] in (1, 3)) for shape in shapes]
    return len(shapes) == len(batch) and (all(forms) or _are_ragged(shapes))


def _are_ragged(shapes: list[tuple[int, ...]]) -> bool:
    return len(set(shapes)) > 1 and all(len(shape) == 1 for shape in shapes)


def as_numbers(value: Any) -> Any:
    """An array, floats of half precision widened; a list where the samples differ in shape or are texts."""
    if isinstance(value, torch.Tensor):
        dense = value.detach().cpu()
        dense = dense if dense.layout is torch.strided else dense.to_dense()
        return (dense.float() if dense.dtype in (torch.bfloat16, torch.float16) else dense).numpy()
    if isinstance(value, (np.ndarray, Image.Image)):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (str, Mapping)):
        each = [as_numbers(item) for item in value]
        return np.stack(each) if len({np.shape(item) for item in each}) == 1 else each
    return list(value) if isinstance(value, tuple) else value


def _kind(values: Any) -> str:
    if isinstance(values, list):
        return TEXTS if isinstance(values[0], str) else IMAGES
    if isinstance(values, str):
        raise UsageError("expected a batch, a list of texts, but got one text.")
    if values.ndim >= 4 or (values.ndim == 3 and _are_grey_images(values)):
        return IMAGES
    if values.ndim == 3:
        return SERIES
    if values.ndim == 2 and values.dtype.kind in "iu":
        return TOKENS
    return SERIES if values.ndim == 2 and _is_smooth(values) else TABLE


def _are_grey_images(values: NDArray[Any]) -> bool:
    return values.dtype == np.uint8 or (values.shape[1] == values.shape[2] >= 8)


def _is_smooth(values: NDArray[Any]) -> bool:
    """Neighbours along a row are alike, once each column has lost its mean."""
    if values.dtype.kind != "f" or values.shape[1] < _LONG:
        return False
    known = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
    known = known - known.mean(axis=1, keepdims=True)
    power = float((known**2).sum())
    return power > 0 and float((known[:, 1:] * known[:, :-1]).sum()) / power > _SMOOTH
