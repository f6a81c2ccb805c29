"""A sound as a WAV file, which TensorBoard's audio tab plays."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np

from torch_debugger.records import SoundSummary
from torch_debugger.runlog.summaries.values import event, value
from torch_debugger.runlog.wire import FIXED32, bytes_field, key, number_field

_VALUE_AUDIO = 6
_RATE, _CHANNELS, _LENGTH, _ENCODED, _CONTENT_TYPE = 1, 2, 3, 4, 5


def sound_event(record: SoundSummary) -> bytes:
    length, channels = record.samples.shape
    parts = (
        key(_RATE, FIXED32) + struct.pack("<f", record.rate),
        number_field(_CHANNELS, channels),
        number_field(_LENGTH, length),
        bytes_field(_ENCODED, _wav(record)),
        bytes_field(_CONTENT_TYPE, b"audio/wav"),
    )
    return event(record, value(record.tag, bytes_field(_VALUE_AUDIO, *parts)))


def _wav(record: SoundSummary) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(record.samples.shape[1])
        sound.setsampwidth(2)
        sound.setframerate(record.rate)
        sound.writeframes(np.ascontiguousarray(record.samples, "<i2").tobytes())
    return file.getvalue()
