"""Labels in words: one for each sample, and how often each class comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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
    counts = class_counts(labels)
    if counts:
        common = ", ".join(
            f"{_named(each, names)} x{times}" for each, times in counts.most_common(_MOST_CLASSES)
        )
        more = ", ..." if len(counts) > _MOST_CLASSES else ""
        return f"{head}, {len(counts)} class{'es'[: 2 * (len(counts) != 1)]}: {common}{more}"
    return f"{head}, {np.nanmin(labels):.4g} to {np.nanmax(labels):.4g}" if labels.dtype.kind in "iuf" else head


def class_counts(labels: Any) -> Counter[int]:
    return Counter(class_ids(labels) or ())


def class_ids(labels: Any) -> list[int] | None:
    """None where they are no classes: masks, boxes, numbers to be met."""
    if isinstance(labels, list) or np.ndim(labels) == 0:
        return None
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if (
        labels.ndim == 2
        and labels.shape[1] > 1
        and np.isin(labels, (0, 1)).all()
        and (labels.sum(axis=1) == 1).all()
    ):
        labels = labels.argmax(axis=1)
    whole = labels.ndim == 1 and labels.dtype.kind in "iub"
    return [int(each) for each in labels] if whole else None
