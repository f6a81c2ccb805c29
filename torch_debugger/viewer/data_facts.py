"""What a run's records say of its data: labels, ranges over the steps, loaders, samples that are equal."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import BatchFact, BatchLook, BatchSample, InputLook, LoaderFact, TargetLook
from torch_debugger.viewer.grids import as_json

_MOST_CLASSES = 256
_MOST_LOOKS = 64  # of one tensor
_MOST_TENSORS = 24
_WHOLE = 2**20  # numbers of a batch from a loader that are measured; of more, the first


def labels_of(run: Run) -> list[dict[str, Any]]:
    """Of each loss: how often each class was a target in the batches that were looked at."""
    names = class_names(run)
    counts: dict[str, Counter[str]] = {}
    looks: Counter[str] = Counter()
    for look in run.records(TargetLook):
        if isinstance(look, TargetLook) and look.labels:
            counts.setdefault(look.site, Counter()).update(look.labels)
            looks[look.site] += 1
    return [_told_labels(site, found, looks[site], names) for site, found in counts.items()]


def class_names(run: Run) -> list[str]:
    """Those of the first dataset that has any; a number is a place in them."""
    facts = (fact for fact in run.records(LoaderFact) if isinstance(fact, LoaderFact))
    return next((list(fact.classes) for fact in facts if fact.classes), [])


def _told_labels(site: str, found: Counter[str], batches: int, names: list[str]) -> dict[str, Any]:
    ordered = sorted(found.items(), key=lambda pair: (len(pair[0]), pair[0]))
    return {
        "loss": site,
        "batches": batches,
        "targets": sum(found.values()),
        "classes": len(found),
        "counts": [
            {"label": label, "name": _name(label, names), "count": count}
            for label, count in ordered[:_MOST_CLASSES]
        ],
    }


def _name(label: str, names: list[str]) -> str | None:
    return names[int(label)] if label.isdecimal() and int(label) < len(names) else None


def ranges_of(run: Run) -> list[dict[str, Any]]:
    """Of each tensor of the data: shape, type, and its numbers at each step at which it was looked at."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for look in run.records(BatchFact, InputLook, BatchSample):
        place, numbers = _numbers_of(look)
        if place is not None and (place in found or len(found) < _MOST_TENSORS):
            tensor = found.setdefault(place, {"where": place[0], "name": place[1], "looks": []})
            tensor |= {"shape": list(numbers.pop("shape")), "dtype": numbers.pop("dtype")}
            if len(tensor["looks"]) < _MOST_LOOKS:
                tensor["looks"].append(numbers)
    return list(found.values())


def _numbers_of(look: Any) -> tuple[tuple[str, str] | None, dict[str, Any]]:
    if isinstance(look, BatchFact):
        measured = min(_WHOLE, _size(look))
        loaded = _range(look, look.minimum, look.maximum, look.notfinite, measured)
        return ("from a loader", look.name), loaded
    if isinstance(look, InputLook):
        given = _range(look, look.minimum, look.maximum, look.not_finite, look.measured or None)
        return ("into the first layer", look.layer), given
    if isinstance(look, BatchSample) and look.role == "target":
        rows = look.kept[0] if look.kept else 0
        measured = _size(look) * rows // (look.shape[0] or 1)
        return ("target of the loss", look.name), _range(look, look.low, look.high, look.not_finite, measured)
    return None, {}


def _size(look: BatchFact | BatchSample) -> int:
    return math.prod(look.shape)


def _range(look: Any, low: float, high: float, wrong: int | None, measured: int | None) -> dict[str, Any]:
    """`measured`: of how many of the tensor's numbers these are; None where the log does not tell."""
    numbers = {"low": low, "high": high, "mean": look.mean, "std": look.std}
    told = {name: as_json(float(value)) for name, value in numbers.items()}
    about = {"step": look.step, "shape": look.shape, "dtype": look.dtype}
    return {**about, "not_finite": wrong, "measured": measured, **told}


def first_odd_step(ranges: list[dict[str, Any]]) -> float:
    """At which NaN or Inf was seen in the data; infinite where there was none."""
    looks = [look for each in ranges for look in each["looks"]]
    return min((look["step"] for look in looks if look["not_finite"]), default=math.inf)


def loaders_of(run: Run) -> list[dict[str, Any]]:
    """With the samples looked at in its first pass, and how many of them are equal to an earlier one. Loaders
    that are alike, such as one made anew for each epoch, are told once with their number."""
    looks = [look for look in run.records(BatchLook) if isinstance(look, BatchLook)]
    told: dict[str, dict[str, Any]] = {}
    for fact in run.records(LoaderFact):
        if isinstance(fact, LoaderFact):
            loader = _loader(fact) | _equal(fact.number, looks)
            told.setdefault(repr(loader), loader | {"count": 0})["count"] += 1
    return list(told.values())


def _loader(fact: LoaderFact) -> dict[str, Any]:
    return {
        "names": list(fact.names),
        "dataset": fact.dataset,
        "samples": fact.samples,
        "batch_size": fact.batch_size,
        "shuffle": fact.shuffle,
        "workers": fact.workers,
        "drop_last": fact.drop_last,
    }


def _equal(loader: int, looks: list[BatchLook]) -> dict[str, int]:
    """Only tensors whose numbers nearly all differ: of others, equal pieces may be different samples."""
    seen = [
        digest
        for look in looks
        if look.loader == loader and look.iteration == 1
        for tensor in look.tensors[:1]
        if tensor.varied
        for digest in tensor.samples
    ]
    return {"looked_at": len(seen), "repeated": len(seen) - len(set(seen))}
