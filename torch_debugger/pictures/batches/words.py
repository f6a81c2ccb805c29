"""What there is to say of a batch: its numbers in a line, its labels in a line, and what looks odd."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.pictures.batches.images import has_channels_last
from torch_debugger.pictures.batches.labels import are_many, class_counts, class_ids
from torch_debugger.pictures.batches.parts import IMAGES, TABLE, TEXTS, TOKENS, Parts
from torch_debugger.stats.line import share_text

_NAMED = 5  # samples or columns
_UNEVEN = 1000.0  # between the deviations of a table's columns


def describe_inputs(parts: Parts) -> str:
    values = parts.inputs
    if parts.kind == TEXTS:
        return f"inputs: {len(values)} texts of {min(map(len, values))} to {max(map(len, values))} letters"
    if isinstance(values, list):
        sizes = sorted({"x".join(map(str, np.shape(each))) for each in values})
        return f"inputs: {len(values)} of different sizes, {', '.join(sizes[:_NAMED])}"
    known = (
        values[np.isfinite(values)].astype(np.float64)
        if values.dtype.kind == "f"
        else values.astype(np.float64)
    )
    head = f"inputs: {list(values.shape)} {parts.dtype or values.dtype}"
    if not known.size:
        return f"{head}, nothing finite"
    if parts.kind == TOKENS:
        ids = f"ids {int(known.min())} to {int(known.max())}, {len(np.unique(known))} different"
        return f"{head}, {ids}{_padding(values)}"
    return f"{head}, {known.min():.4g} to {known.max():.4g}, mean {known.mean():.3g}, std {known.std():.3g}"


def odd_things(parts: Parts, *, in_order: bool) -> list[str]:
    """Sentences; none where nothing stands out. `in_order`: as a loader gives them."""
    arrays = parts.inputs if isinstance(parts.inputs, list) else list(parts.inputs)
    said = [] if parts.kind == TEXTS else [*_not_finite(arrays), *_constant(parts, arrays), *_range(parts)]
    said += _twins(arrays)
    if parts.kind == TABLE:
        said += _columns(parts)
    return said + _labels(parts, in_order)


def _not_finite(arrays: list[Any]) -> list[str]:
    odd = [int((~np.isfinite(each)).sum()) if np.asarray(each).dtype.kind == "f" else 0 for each in arrays]
    where = [place for place, count in enumerate(odd) if count]
    return [f"NaN or Inf: {sum(odd)} values, in {_some('sample', where)}."] if where else []


def _constant(parts: Parts, arrays: list[Any]) -> list[str]:
    if parts.kind == TABLE:
        return []
    where = [place for place, each in enumerate(arrays) if np.size(each) > 1 and np.all(each == each.flat[0])]
    what = "the same id throughout" if parts.kind == TOKENS else "one value everywhere"
    return [f"Constant, {what}: {_some('sample', where)}."] if where else []


def _range(parts: Parts) -> list[str]:
    said = []
    values = parts.inputs
    if parts.kind == IMAGES and not isinstance(values, list):
        high = float(np.nanmax(values)) if not np.isnan(values).all() else 0.0
        if values.dtype.kind == "f" and 2 < high <= 255 and float(np.nanmin(values)) >= 0:
            said.append(
                f"Values reach {high:.4g}: not normalised. Divide by 255, or normalise, before the model."
            )
        if values.dtype == np.uint8:
            said.append("uint8: to be made float, and normalised, before the model.")
        if has_channels_last(values):
            said.append("Channels come last; torch's convolutions take [N, C, H, W].")
    if getattr(values, "dtype", None) == np.float64 and parts.dtype == "float64":
        said.append("float64: a model of float32 refuses it.")
    return said


def _twins(arrays: list[Any]) -> list[str]:
    """Equal to the last bit."""
    first: dict[Any, int] = {}
    pairs = []
    for place, each in enumerate(arrays):
        key = each if isinstance(each, str) else (np.shape(each), np.ascontiguousarray(each).tobytes())
        if key in first:
            pairs.append(f"{place} (as {first[key]})")
        first.setdefault(key, place)
    return [f"Twice in the batch: {_listed('sample', pairs)}."] if pairs else []


def _columns(parts: Parts) -> list[str]:
    values = parts.inputs.astype(np.float64)
    with np.errstate(all="ignore"):
        spread = np.nanstd(np.where(np.isfinite(values), values, np.nan), axis=0)
    same = [place for place, each in enumerate(spread) if each == 0]
    said = [f"Constant: {_listed('column', [_column(parts, place) for place in same])}."] if same else []
    moving = np.where(spread > 0, spread, np.nan)
    if np.isfinite(moving).sum() > 1 and np.nanmax(moving) > _UNEVEN * np.nanmin(moving):
        ratio = np.nanmax(moving) / np.nanmin(moving)
        most, least = _column(parts, int(np.nanargmax(moving))), _column(parts, int(np.nanargmin(moving)))
        said.append(f"Column {most} spreads {ratio:,.0f} times as far as column {least}: scale the columns.")
    return said


def _column(parts: Parts, place: int) -> str:
    return parts.columns[place] if parts.columns else str(place)


def _padding(ids: NDArray[Any]) -> str:
    """The id that most rows end with, where it repeats there."""
    if ids.shape[1] < 2:
        return ""
    ends = Counter(ids[:, -1][ids[:, -1] == ids[:, -2]].tolist()).most_common(1)
    if not ends or ends[0][1] * 2 < len(ids):
        return ""
    return f"; padding, as it seems id {ends[0][0]}: {share_text(int((ids == ends[0][0]).sum()), ids.size)}"


def _labels(parts: Parts, in_order: bool) -> list[str]:
    if parts.labels is None:
        return []
    if are_many(parts.labels) and len(parts.labels) != len(parts):
        return [f"{len(parts)} inputs but {len(parts.labels)} labels."]
    ids = class_ids(parts.labels)
    counts = class_counts(parts.labels)
    if ids is None or len(ids) < 4:
        return []
    if len(counts) == 1:
        return [f"All {len(ids)} labels are {next(iter(counts))}."]
    if in_order and len(ids) >= 8 and all(before <= after for before, after in pairwise(ids)):
        return ["The labels come in order: is the training data shuffled?"]
    return []


def _some(word: str, places: list[int]) -> str:
    return _listed(word, [str(place) for place in places])


def _listed(word: str, names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{word}{'s'[: len(names) != 1]} {', '.join(names[:_NAMED])}{more}"
