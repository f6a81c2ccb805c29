"""What is known of the data of a run beside its samples: labels, ranges, loaders, and what is wrong with it."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.run import Run
from torch_debugger.records import BatchFact, BatchLook, BatchSample, Finding, InputLook, LoaderFact, TargetLook
from torch_debugger.report.json_and_markdown import finding_to_json
from torch_debugger.viewer.questions import Query, as_json

_FAMILY = "TD2"
# Of other families, and yet of what is in the batches.
_ALSO = frozenset(
    ("sample-raises", "binary-targets-out-of-range", "targets-out-of-reach", "regression-target-scale",
     "padding-counted-in-loss", "target-shifted")
)  # fmt: skip
_OF_NAN = frozenset(("loss-not-finite", "values-not-finite", "nan-steps-skipped"))


def answer_data(query: Query) -> dict[str, Any]:
    return query.of_run(data_of)


def data_of(run: Run) -> dict[str, Any]:
    folder = run.facts.run.folder if run.facts.run else None
    ranges = _ranges_of(run)
    looks = [look for each in ranges for look in each["looks"]]
    # At which step NaN or Inf was seen in the data.
    not_finite_since = min((look["step"] for look in looks if look["not_finite"]), default=math.inf)
    wrong = [finding for finding in run.findings if _is_of_the_data(finding, not_finite_since)]
    return {
        "labels": labels_of(run),
        "classes": class_names(run),
        "ranges": ranges,
        "loaders": _loaders_of(run),
        "findings": [finding_to_json(finding, folder, None) for finding in wrong],
    }


def _is_of_the_data(finding: Finding, not_finite_since: float) -> bool:
    """A NaN that was in the batch to begin with is one, whichever check met it."""
    came_in = finding.evidence.get("phase") == "input"
    seen_before = finding.name in _OF_NAN and not_finite_since <= finding.first_step
    return finding.check.startswith(_FAMILY) or finding.name in _ALSO or came_in or seen_before


# Batches as the model saw them. Without a step: what was kept of which; with one: that step's numbers.
_MOST_TENSORS = 16  # of one step


def answer_samples(query: Query) -> dict[str, Any]:
    if not query.text("step"):
        return query.of_run(headings)
    step = query.whole("step", 1)
    return query.of_run(lambda run: {"step": step, "tensors": [sample_to_json(each) for each in _at(run, step)]})


def headings(run: Run) -> dict[str, Any]:
    kept = list(_first_rank(run).records(BatchSample))
    return {"steps": sorted({each.step for each in kept}), "tensors": [heading_of(each) for each in kept]}


def _at(run: Run, step: int) -> list[BatchSample]:
    """Inputs before targets."""
    found = _first_rank(run).records_at(step, BatchSample)
    samples = [each for each in found if isinstance(each, BatchSample)]
    return sorted(samples, key=lambda each: each.role != "input")[:_MOST_TENSORS]


def _first_rank(run: Run) -> Run:
    """They all look alike."""
    parts = run.ranks
    return parts[min(parts)] if parts else run


# What a run's records say of its data: labels, ranges over the steps, loaders, samples that are equal.
_MOST_CLASSES = 256
_MOST_LOOKS = 64  # of one tensor
_MOST_RANGES = 24
_WHOLE = 2**20  # numbers of a batch from a loader that are measured; of more, the first


def labels_of(run: Run) -> list[dict[str, Any]]:
    """Of each loss: how often each class was a target in the batches that were looked at."""
    names = class_names(run)
    counts: dict[str, Counter[str]] = {}
    looks: Counter[str] = Counter()
    for look in run.records(TargetLook):
        if look.labels:
            counts.setdefault(look.site, Counter()).update(look.labels)
            looks[look.site] += 1
    found = []
    for site, counted in counts.items():
        ordered = sorted(counted.items(), key=lambda pair: (len(pair[0]), pair[0]))
        shown = [
            {"label": label, "name": _name(label, names), "count": count} for label, count in ordered[:_MOST_CLASSES]
        ]
        found.append(
            {
                "loss": site,
                "batches": looks[site],
                "targets": sum(counted.values()),
                "classes": len(counted),
                "counts": shown,
            }
        )
    return found


def class_names(run: Run) -> list[str]:
    """Those of the first dataset that has any; a number is a place in them."""
    return next((list(fact.classes) for fact in run.records(LoaderFact) if fact.classes), [])


def _name(label: str, names: list[str]) -> str | None:
    return names[int(label)] if label.isdecimal() and int(label) < len(names) else None


def _ranges_of(run: Run) -> list[dict[str, Any]]:
    """Of each tensor of the data: shape, type, and its numbers at each step at which it was looked at."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for look in run.records(BatchFact, InputLook, BatchSample):
        place, numbers = _numbers_of(look)
        if place is not None and (place in found or len(found) < _MOST_RANGES):
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
        entered = _range(look, look.minimum, look.maximum, look.not_finite, look.measured or None)
        return ("into the first layer", look.layer), entered
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
    statistics = {name: as_json(float(value)) for name, value in numbers.items()}
    about = {"step": look.step, "shape": look.shape, "dtype": look.dtype}
    return {**about, "not_finite": wrong, "measured": measured, **statistics}


def _loaders_of(run: Run) -> list[dict[str, Any]]:
    """With the samples looked at in its first pass, and how many of them are equal to an earlier one. Loaders
    that are alike, such as one made anew for each epoch, are told once with their number."""
    looks = list(run.records(BatchLook))
    loaders: dict[str, dict[str, Any]] = {}
    for fact in run.records(LoaderFact):
        loader = {
            "names": list(fact.names),
            "dataset": fact.dataset,
            "samples": fact.samples,
            "batch_size": fact.batch_size,
            "shuffle": fact.shuffle,
            "workers": fact.workers,
            "drop_last": fact.drop_last,
            **_equal(fact.number, looks),
        }
        loaders.setdefault(repr(loader), loader | {"count": 0})["count"] += 1
    return list(loaders.values())


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


# Samples of batches as JSON values: what was kept of each tensor, and its numbers as a page can draw them.
_MOST_BYTES = 1_000_000  # of one tensor; a record of ours has a tenth of it


def heading_of(sample: BatchSample) -> dict[str, Any]:
    """All but the numbers."""
    return {
        "step": sample.step,
        "role": sample.role,
        "root": sample.root,
        "name": sample.name,
        "kind": sample.kind,
        "shape": list(sample.shape),
        "dtype": sample.dtype,
        "low": as_json(sample.low),
        "high": as_json(sample.high),
        "mean": as_json(sample.mean),
        "std": as_json(sample.std),
        "not_finite": sample.not_finite,
        "kept": list(sample.kept),
        "note": sample.note,
        "padding": sample.padding,
    }


def sample_to_json(sample: BatchSample) -> dict[str, Any]:
    """Pictures have `pixels` (base64 of one byte each), everything else `numbers`; else a `problem` is told."""
    heading = heading_of(sample)
    raw = _unpacked(sample)
    if raw is None:
        return {**heading, "problem": "The numbers of this sample are damaged in the log."}
    if sample.kind == "image":
        return {**heading, "pixels": base64.b64encode(raw).decode("ascii")}
    return {**heading, "numbers": _rounded(np.frombuffer(raw, "<f4"))}


def _unpacked(sample: BatchSample) -> bytes | None:
    each = 1 if sample.kind == "image" else 4
    if any(size < 0 for size in sample.kept) or math.prod(sample.kept) * each > _MOST_BYTES:
        return None
    try:
        unpacking = zlib.decompressobj()
        raw = unpacking.decompress(base64.b64decode(sample.data, validate=True), _MOST_BYTES)
    except (zlib.error, binascii.Error, ValueError):
        return None
    return raw if len(raw) == math.prod(sample.kept) * each else None


def _rounded(values: NDArray[np.float32]) -> list[Any]:
    """To five digits, in their own order."""
    whole = bool(np.isfinite(values).all() and (values == np.round(values)).all() and (np.abs(values) < 2**53).all())
    if whole:
        return [int(value) for value in values.tolist()]
    return [as_json(float(f"{value:.5g}")) for value in values.tolist()]
