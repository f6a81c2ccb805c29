"""Tensors to samples of sound: one or two channels of 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.arrays import as_array

_LOUDEST = np.iinfo(np.int16).max


def sound_samples(values: Any) -> NDArray[np.int16]:
    """[samples, channels], of numbers from -1 to 1 or of 16-bit samples; what is louder is clipped."""
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
        return np.array(samples)
    floats = samples if samples.dtype == np.float32 else samples.astype(np.float64)
    loud = np.nan_to_num(floats, nan=0.0)
    return (loud.clip(-1, 1) * _LOUDEST).astype(np.int16)
