"""Samples of batches as JSON values: what was kept of each tensor, and its numbers as a page can draw them."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.records import BatchSample
from torch_debugger.viewer.grids import as_json

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
    whole = bool(
        np.isfinite(values).all() and (values == np.round(values)).all() and (np.abs(values) < 2**53).all()
    )
    if whole:
        return [int(value) for value in values.tolist()]
    return [as_json(float(f"{value:.5g}")) for value in values.tolist()]
