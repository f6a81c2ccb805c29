"""What a batch is made of: inputs of some kind, and their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.font_manager import FontProperties, findfont, get_font
from numpy.typing import NDArray
from PIL import Image

from torch_debugger.pictures.figures import Floats
from torch_debugger.stats.values import share_text
from torch_debugger.system.errors import UsageError

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
    values = as_numbers(inputs)
    if isinstance(values, list):
        if not isinstance(values[0], str) and any(np.ndim(each) < 2 for each in values):
            raise UsageError("the samples differ in length: pad them into one tensor, as a collate function can.")
    elif np.ndim(values) == 0 and not isinstance(values, str):
        raise UsageError("expected a batch with the samples along its first dimension, but got a single value.")
    elif inputs is batch and np.ndim(values) == 3 and values.shape[0] in (1, 3):
        height, width = values.shape[1:]
        if min(height, width) >= 8 and 0.5 <= height / width <= 2:
            values = values[None]  # one image [channels, height, width], that comes without labels
    dtype = str(getattr(inputs, "dtype", "")).removeprefix("torch.")
    found = kind or _kind(values)
    if found == TABLE and values.ndim == 1:
        values = values[:, None]
    return Parts(found, values, None if labels is None else as_numbers(labels), dtype, columns)


def _split(batch: Any) -> tuple[Any, Any, tuple[str, ...]]:
    if hasattr(batch, "keys"):
        named = dict(batch)
        label = next((name for name in _LABELS if name in named), None)
        labels = None if label is None else named[label]
        rest = {str(name): value for name, value in named.items() if name != label and _is_data(value)}
        if not rest:
            raise UsageError(f"this batch has no tensors to show: its keys are {', '.join(map(str, named))}.")
        name = next((name for name in _INPUTS if name in rest), None)
        if name is None and all(np.ndim(value) == 1 for value in rest.values()):  # a table, column by column
            stacked = np.stack([np.asarray(as_numbers(value), dtype=np.float32) for value in rest.values()], axis=1)
            return stacked, labels, tuple(rest)
        return rest[name or next(iter(rest))], labels, ()
    if isinstance(batch, (tuple, list)) and batch and _is_data(batch[0]) and not isinstance(batch[0], str):
        if _are_single(batch):
            return batch, None, ()
        inputs, labels, columns = _split(batch[0])
        are_pairs = isinstance(batch[0], (tuple, list))  # ((one, other), label): what stands inside is no label
        return inputs, batch[1] if len(batch) > 1 and (are_pairs or labels is None) else labels, columns
    if _is_data(batch):
        return batch, None, ()
    raise UsageError(f"expected a batch of tensors, arrays, images or texts, but got {type(batch).__name__}.")


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
    are_ragged = len(set(shapes)) > 1 and all(len(shape) == 1 for shape in shapes)
    return len(shapes) == len(batch) and (all(forms) or are_ragged)


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
    if values.ndim >= 4:
        return IMAGES
    if values.ndim == 3:
        are_grey_images = values.dtype == np.uint8 or values.shape[1] == values.shape[2] >= 8
        return IMAGES if are_grey_images else SERIES
    if values.ndim == 2 and values.dtype.kind in "iu":
        return TOKENS
    if values.ndim < 2 or values.dtype.kind != "f" or values.shape[1] < _LONG:
        return TABLE
    # In a series neighbours along a row are alike, once each row has lost its mean.
    known = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
    known = known - known.mean(axis=1, keepdims=True)
    power = float((known**2).sum())
    return SERIES if power > 0 and float((known[:, 1:] * known[:, :-1]).sum()) / power > _SMOOTH else TABLE


# What there is to say of a batch: its numbers in a line, its labels in a line, and what looks odd.
_NAMED = 5  # samples or columns
_UNEVEN = 1000.0  # between the deviations of a table's columns


def describe_inputs(parts: Parts) -> str:
    values = parts.inputs
    if parts.kind == TEXTS:
        return f"inputs: {len(values)} texts of {min(map(len, values))} to {max(map(len, values))} letters"
    if isinstance(values, list):
        sizes = sorted({"x".join(map(str, np.shape(each))) for each in values})
        return f"inputs: {len(values)} of different sizes, {', '.join(sizes[:_NAMED])}"
    known = values[np.isfinite(values)].astype(np.float64) if values.dtype.kind == "f" else values.astype(np.float64)
    head = f"inputs: {list(values.shape)} {parts.dtype or values.dtype}"
    if not known.size:
        return f"{head}, nothing finite"
    if parts.kind == TOKENS:
        ids = f"ids {int(known.min())} to {int(known.max())}, {len(np.unique(known))} different"
        if values.shape[1] > 1:  # padding is the id that most rows end with, where it repeats there
            ends = Counter(values[:, -1][values[:, -1] == values[:, -2]].tolist()).most_common(1)
            if ends and ends[0][1] * 2 >= len(values):
                count = int((values == ends[0][0]).sum())
                ids += f"; padding, as it seems id {ends[0][0]}: {share_text(count, values.size)}"
        return f"{head}, {ids}"
    return f"{head}, {known.min():.4g} to {known.max():.4g}, mean {known.mean():.3g}, std {known.std():.3g}"


def suspicious_things(parts: Parts, *, in_order: bool) -> list[str]:
    """Sentences; none where nothing stands out. `in_order`: as a loader gives them."""
    arrays = parts.inputs if isinstance(parts.inputs, list) else list(parts.inputs)
    said = []
    if parts.kind != TEXTS:
        not_finite = [int((~np.isfinite(each)).sum()) if np.asarray(each).dtype.kind == "f" else 0 for each in arrays]
        where = [str(place) for place, count in enumerate(not_finite) if count]
        if where:
            said.append(f"NaN or Inf: {sum(not_finite)} values, in {_listed('sample', where)}.")
        if parts.kind != TABLE:
            same = [
                str(place) for place, each in enumerate(arrays) if np.size(each) > 1 and np.all(each == each.flat[0])
            ]
            what = "the same id throughout" if parts.kind == TOKENS else "one value everywhere"
            said += [f"Constant, {what}: {_listed('sample', same)}."] if same else []
        said += _range(parts)
    first: dict[Any, int] = {}
    repeated = []  # equal to the last bit
    for place, each in enumerate(arrays):
        key = each if isinstance(each, str) else (np.shape(each), np.ascontiguousarray(each).tobytes())
        if key in first:
            repeated.append(f"{place} (as {first[key]})")
        first.setdefault(key, place)
    said += [f"Twice in the batch: {_listed('sample', repeated)}."] if repeated else []
    if parts.kind == TABLE:
        said += _columns(parts)
    return said + _labels(parts, in_order)


def _range(parts: Parts) -> list[str]:
    said = []
    values = parts.inputs
    if parts.kind == IMAGES and not isinstance(values, list):
        high = float(np.nanmax(values)) if not np.isnan(values).all() else 0.0
        if values.dtype.kind == "f" and 2 < high <= 255 and float(np.nanmin(values)) >= 0:
            said.append(f"Values reach {high:.4g}: not normalised. Divide by 255, or normalise, before the model.")
        if values.dtype == np.uint8:
            said.append("uint8: to be made float, and normalised, before the model.")
        if has_channels_last(values):
            said.append("Channels come last; torch's convolutions take [N, C, H, W].")
    if getattr(values, "dtype", None) == np.float64 and parts.dtype == "float64":
        said.append("float64: a model of float32 refuses it.")
    return said


def _columns(parts: Parts) -> list[str]:
    values = parts.inputs.astype(np.float64)
    with np.errstate(all="ignore"):
        spread = np.nanstd(np.where(np.isfinite(values), values, np.nan), axis=0)
    names = parts.columns or tuple(map(str, range(values.shape[1])))
    same = [name for name, each in zip(names, spread, strict=True) if each == 0]
    said = [f"Constant: {_listed('column', same)}."] if same else []
    moving = np.where(spread > 0, spread, np.nan)
    if np.isfinite(moving).sum() > 1 and np.nanmax(moving) > _UNEVEN * np.nanmin(moving):
        ratio = np.nanmax(moving) / np.nanmin(moving)
        most, least = names[int(np.nanargmax(moving))], names[int(np.nanargmin(moving))]
        said.append(f"Column {most} spreads {ratio:,.0f} times as far as column {least}: scale the columns.")
    return said


def _labels(parts: Parts, in_order: bool) -> list[str]:
    if parts.labels is None:
        return []
    if are_many(parts.labels) and len(parts.labels) != len(parts):
        return [f"{len(parts)} inputs but {len(parts.labels)} labels."]
    ids = class_ids(parts.labels)
    if ids is None or len(ids) < 4:
        return []
    if len(set(ids)) == 1:
        return [f"All {len(ids)} labels are {ids[0]}."]
    if in_order and len(ids) >= 8 and ids == sorted(ids):
        return ["The labels come in order: is the training data shuffled?"]
    return []


def _listed(word: str, names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{word}{'s'[: len(names) != 1]} {', '.join(names[:_NAMED])}{more}"


# Labels in words: one for each sample, and how often each class comes.
Names = Sequence[str] | Mapping[int, str] | None
_MOST_CLASSES = 10


def label_texts(labels: Any, names: Names, count: int) -> list[str]:
    if not are_many(labels) or len(labels) < count:
        return [""] * count
    return [_text(labels[place], names) for place in range(count)]


def are_many(labels: Any) -> bool:
    """Whether there is one for each sample."""
    return isinstance(labels, list) or (labels is not None and np.ndim(labels) > 0)


def _text(label: Any, names: Names) -> str:
    if isinstance(label, Mapping):
        count = len(label.get("boxes", ()))
        return f"{count} box{'es'[: 2 * (count != 1)]}" if "boxes" in label else ", ".join(map(str, label))
    if isinstance(label, str):
        return label
    values = np.asarray(label)
    if values.ndim == 0:
        return _named(values.item(), names)
    if values.ndim == 1 and np.isin(values, (0, 1)).all():  # one-hot, or several classes at once
        return "+".join(_named(int(place), names) for place in np.flatnonzero(values)) or "none"
    return ", ".join(f"{each:.3g}" for each in values[:3]) if values.ndim == 1 else ""


def _named(value: Any, names: Names) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3g}"
    if isinstance(names, Mapping):
        return str(names.get(int(value), int(value)))
    if names is not None and 0 <= value < len(names):
        return str(names[int(value)])
    return str(int(value)) if isinstance(value, (int, float)) else str(value)


def describe_labels(labels: Any, names: Names) -> str:
    if isinstance(labels, list) and isinstance(labels[0], Mapping):
        return f"labels: {', '.join(map(str, labels[0]))} for each sample"
    if isinstance(labels, list) or np.ndim(labels) == 0:
        return f"labels: {type(labels).__name__}, {len(labels) if isinstance(labels, list) else labels}"
    head = f"labels: {list(labels.shape)} {labels.dtype}"
    counts = Counter(class_ids(labels) or ())
    if counts:
        common = ", ".join(f"{_named(each, names)} x{times}" for each, times in counts.most_common(_MOST_CLASSES))
        more = ", ..." if len(counts) > _MOST_CLASSES else ""
        return f"{head}, {len(counts)} class{'es'[: 2 * (len(counts) != 1)]}: {common}{more}"
    return f"{head}, {np.nanmin(labels):.4g} to {np.nanmax(labels):.4g}" if labels.dtype.kind in "iuf" else head


def class_ids(labels: Any) -> list[int] | None:
    """None where they are no classes: masks, boxes, numbers to be met."""
    if isinstance(labels, list) or np.ndim(labels) == 0:
        return None
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2 and labels.shape[1] > 1 and np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all():
        labels = labels.argmax(axis=1)
    whole = labels.ndim == 1 and labels.dtype.kind in "iub"
    return [int(each) for each in labels] if whole else None


# Images of a batch as they can be looked at: channels last, from 0 to 1, and what was done for it in words.
_MEAN, _STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet
_SLACK = 0.02
_NOT_FINITE_COLOUR = (1.0, 0.0, 1.0)


def channels_last(values: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """[N, H, W, C] of pictures, films or volumes, and what was left out."""
    if values.ndim == 5:
        frames = 1 if values.shape[2] in (1, 3) and values.shape[1] not in (1, 3) else 2
        middle = values.shape[frames] // 2
        shown, said = channels_last(values.take(middle, axis=frames))
        return shown, [f"Of {values.shape[frames]} frames or slices number {middle} is shown.", *said]
    if values.ndim == 3:
        return values[..., None], []
    if not has_channels_last(values):
        values = values.transpose(0, 2, 3, 1)
    count = values.shape[3]
    if count in (1, 3):
        return values, []
    if count == 4:
        return values[..., :3], ["Of 4 channels the first three are shown."]
    return values[..., :1], [f"Of {count} channels the first is shown."]


def has_channels_last(values: NDArray[Any]) -> bool:
    return values.ndim == 4 and values.shape[3] in (1, 3, 4) and values.shape[1] not in (1, 3, 4)


def displayable(values: NDArray[Any]) -> tuple[Floats, list[str]]:
    """[N, H, W, 1 or 3] from 0 to 1, NaN in magenta. The numbers of the batch itself stay as they are."""
    floats = values.astype(np.float64)
    known = floats[np.isfinite(floats)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    in_colour = values.shape[-1] == 3
    said = []
    if values.dtype == np.uint8:
        floats /= 255
    elif low >= 0 and 1 + _SLACK < high <= 255:
        floats, said = floats / 255, ["For showing, divided by 255."]
    elif low >= -1 - _SLACK and high <= 1 + _SLACK:
        if low < -_SLACK:
            floats, said = (floats + 1) / 2, ["For showing, moved from -1..1 to 0..1."]
    else:
        undone = floats * _STD + _MEAN if in_colour else floats
        if low < -1 and in_colour and np.nanmin(undone) >= -_SLACK and np.nanmax(undone) <= 1 + _SLACK:
            floats, said = undone, ["For showing, the normalisation with ImageNet's mean and deviation is undone."]
        else:
            floats = (floats - low) / (high - low)
            said = [f"For showing, stretched from {low:.3g}..{high:.3g} to 0..1."]
    rgb = floats if in_colour else np.repeat(floats, 3, axis=-1)
    rgb = np.where(np.isfinite(rgb).all(axis=-1, keepdims=True), rgb, _NOT_FINITE_COLOUR)
    return np.clip(rgb, 0, 1), said


# Ids of tokens as words, by whatever decodes them, in letters that the picture's font has.
Decode = Any  # a tokenizer, a function of ids, a list of words, a dictionary between ids and words
_LACKING = "□"
_SIGNS = {"\n": "↵", "\t": "→", "\r": ""}


def token_texts(ids: NDArray[Any], decode: Decode | None) -> list[str]:
    """One line a row: words where they are known, else the ids."""
    if decode is None:
        return [" ".join(str(each) for each in row) for row in ids.tolist()]
    rows = [[int(each) for each in row] for row in ids]
    if callable(getattr(decode, "decode", None)) and not isinstance(decode, (str, bytes)):
        decode = decode.decode
    if callable(decode):
        return [drawable(str(decode(row))) for row in rows]
    if isinstance(decode, Mapping):
        turned = all(isinstance(value, int) for value in decode.values())  # from word to id
        words = {int(value if turned else key): str(key if turned else value) for key, value in decode.items()}
    elif isinstance(decode, (list, tuple)):
        words = {place: str(word) for place, word in enumerate(decode)}
    else:
        raise UsageError(
            "decode= is a function of a list of ids, a tokenizer, a list of words or a dictionary of ids and "
            f"words, not {type(decode).__name__}."
        )
    between = "" if all(len(word) == 1 for word in words.values()) else " "
    return [drawable(between.join(words.get(each, f"<{each}>") for each in row)) for row in rows]


def drawable(text: str) -> str:
    """Line ends as signs; a letter that the font lacks as a box."""
    font = get_font(findfont(FontProperties(family="monospace")))
    signs = [_SIGNS.get(letter, letter) for letter in text]
    return "".join(sign if not sign or font.get_char_index(ord(sign)) else _LACKING for sign in signs)
