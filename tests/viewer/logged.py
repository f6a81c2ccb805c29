"""Logs with pictures, sounds and samples in them, sound and hostile."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from torch_debugger.log.protobuf import (
    EVENT_STEP,
    EVENT_SUMMARY,
    EVENT_TIME,
    SUMMARY_VALUE,
    VALUE_TAG,
    bytes_field,
    key,
    number_field,
)
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import BatchSample, ForeignEvent, Record

_FIXED = 1  # of 64 bits


def write(folder: Path, *records: Record) -> Path:
    writer = LogWriter(folder, on_fault=print)
    for record in records:
        writer.add(record)
    writer.close()
    return folder


def raw_event(tag: bytes, form: int, content: bytes, step: int = 3) -> ForeignEvent:
    """A picture (4) or a sound (6) whose bytes may be anything."""
    value = bytes_field(VALUE_TAG, tag) + bytes_field(form, bytes_field(4, content))
    event = key(EVENT_TIME, _FIXED) + struct.pack("<d", 1e9) + number_field(EVENT_STEP, step)
    event += bytes_field(EVENT_SUMMARY, bytes_field(SUMMARY_VALUE, value))
    return ForeignEvent(step, 1e9, tag.decode("utf-8", "replace"), event)


def sample(values: Any, **changes: Any) -> BatchSample:
    array = np.asarray(values)
    given: dict[str, Any] = {
        "step": 1, "role": "input", "root": "model", "name": "x", "kind": "vectors", "shape": array.shape,
        "dtype": "float32", "low": 0.0, "high": 1.0, "mean": 0.5, "std": 0.1, "not_finite": 0,
        "kept": array.shape, "data": base64.b64encode(zlib.compress(array.tobytes())).decode(),
    }  # fmt: skip
    return BatchSample(**(given | changes))
