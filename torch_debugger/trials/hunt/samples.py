"""Which samples of a dataset hold a NaN or Inf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import torch

from torch_debugger.clocks import time

_TIME_LIMIT_S = 2.0
_MOST = 10


def find_bad_samples(dataset: Any) -> tuple[int, ...]:
    """The first ten, looked for from the beginning for two seconds; in a fork: it runs the user's code."""
    found: list[int] = []
    deadline = time.monotonic() + _TIME_LIMIT_S
    try:
        for index in range(len(dataset)):
            if time.monotonic() > deadline or len(found) == _MOST:
                break
            if _is_bad(dataset[index]):
                found.append(index)
    except Exception:  # the user's own __len__ and __getitem__ may raise anything
        return tuple(found)
    return tuple(found)


def _is_bad(sample: Any, depth: int = 0) -> bool:
    if isinstance(sample, torch.Tensor):
        return sample.is_floating_point() and not bool(torch.isfinite(sample).all())
    if isinstance(sample, numpy.ndarray | numpy.floating):
        return sample.dtype.kind == "f" and not bool(numpy.isfinite(sample).all())
    if isinstance(sample, float):
        return not numpy.isfinite(sample)
    if depth < 3 and isinstance(sample, (tuple, list)):
        return any(_is_bad(item, depth + 1) for item in sample)
    if depth < 3 and isinstance(sample, Mapping):
        return any(_is_bad(item, depth + 1) for item in sample.values())
    return False
