"""Tensors to samples of sound: one or two channels of 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.arrays import as_array

_LOUDEST = np.iinfo(np.int16).max


def sound_samples(values: Any) -> tuple[NDArray[np.int16], int]:
    """[samples, channels], of numbers from -1 to 1 or of 16-bit samples, and how many had to be clipped."""
    array = as_array(values)
    shape = list(array.shape)
    array = np.atleast_1d(array.squeeze())
    if array.ndim == 2 and array.shape[0] <= 2 < array.shape[1]:
        array = array.T
    if array.size == 0 or array.ndim > 2 or (array.ndim == 2 and array.shape[1] > 2):
        raise DebuggerError(
            f"expected a sound of shape [samples], [samples, channels] or [channels, samples] with one or two "
            f"channels, got {shape}"
        )
    samples = array.reshape(len(array), -1)
    if samples.dtype == np.int16:
        return np.array(samples), 0
    floats = samples if samples.dtype == np.float32 else samples.astype(np.float64)
    heard = floats.clip(-1, 1)
    clipped = int(np.count_nonzero(heard != floats))  # NaN among them
    return (np.nan_to_num(heard, nan=0.0) * _LOUDEST).astype(np.int16), clipped
