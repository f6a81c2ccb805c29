"""What a log holds beside scalars, decoded when it is asked for: histograms, pictures, texts, sounds."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive import numbers
from torch_debugger.archive.graphs.model_graph import graphs
from torch_debugger.archive.meshes import mesh_parts
from torch_debugger.archive.parsing import GRAPHS, HISTOGRAMS, MESHES, PICTURES, SOUNDS, TEXTS, Value
from torch_debugger.archive.tensors import read_numbers, read_strings
from torch_debugger.runlog.events import VALUE_TENSOR
from torch_debugger.runlog.wire import fields, message


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts between edges: `counts[i]` values lie in `lefts[i]` to `rights[i]`."""

    step: int
    time: float
    lefts: NDArray[np.float64] = field(repr=False)
    rights: NDArray[np.float64] = field(repr=False)
    counts: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Picture:
    step: int
    time: float
    width: int
    height: int
    data: bytes = field(repr=False)  # a PNG, or the GIF of a video


@dataclass(frozen=True, slots=True)
class Text:
    step: int
    time: float
    text: str


@dataclass(frozen=True, slots=True)
class Sound:
    step: int
    time: float
    data: bytes = field(repr=False)  # a WAV
    kind: str = "audio/wav"


def histograms(step: int, time: float, value: Value) -> Iterator[Histogram]:
    if value.form == VALUE_TENSOR:
        table = read_numbers(value.body).reshape(-1, 3)
        yield Histogram(step, time, *table.T)
        return
    limits = _packed(value.body, numbers.HISTOGRAM_LIMITS)
    counts = _packed(value.body, numbers.HISTOGRAM_COUNTS)
    filled = np.flatnonzero(counts)
    some = slice(filled[0], filled[-1] + 1) if len(filled) else slice(0)
    lefts = np.concatenate([[-np.inf], limits[:-1]])[some]
    # The outermost limits are as wide as the format allows; no value lies beyond the least and the most.
    least, most = _double(value.body, numbers.HISTOGRAM_LEAST), _double(value.body, numbers.HISTOGRAM_MOST)
    yield Histogram(step, time, np.maximum(lefts, least), np.minimum(limits[some], most), counts[some])


def pictures(step: int, time: float, value: Value) -> Iterator[Picture]:
    if value.form == VALUE_TENSOR:
        width, height, *images = read_strings(value.body)
        for image in images:
            yield Picture(step, time, int(width), int(height), image)
        return
    parts = message(value.body)
    width, height = parts.get(numbers.IMAGE_WIDTH, 0), parts.get(numbers.IMAGE_HEIGHT, 0)
    yield Picture(step, time, width, height, parts.get(numbers.IMAGE_DATA, b""))


def texts(step: int, time: float, value: Value) -> Iterator[Text]:
    lines = [line.decode("utf-8", "replace") for line in read_strings(value.body)]
    yield Text(step, time, "\n".join(lines))


def sounds(step: int, time: float, value: Value) -> Iterator[Sound]:
    if value.form == VALUE_TENSOR:  # pairs of sound and label
        for sound in read_strings(value.body)[::2]:
            yield Sound(step, time, sound)
        return
    parts = message(value.body)
    kind = parts.get(numbers.SOUND_TYPE, b"audio/wav").decode("utf-8", "replace")
    yield Sound(step, time, parts.get(numbers.SOUND_DATA, b""), kind)


DECODERS: dict[str, Callable[[int, float, Value], Iterator[Any]]] = {
    HISTOGRAMS: histograms,
    PICTURES: pictures,
    TEXTS: texts,
    SOUNDS: sounds,
    GRAPHS: graphs,
    MESHES: mesh_parts,
}


def hparams(value: Value) -> dict[str, bool | float | str]:
    """What any writer's `add_hparams` said."""
    found: dict[str, bool | float | str] = {}
    started = message(value.plugin_content).get(numbers.HPARAMS_START, b"")
    for number, entry in fields(started):
        if number == numbers.START_HPARAMS:
            parts = message(entry)
            plain = _plain(message(parts.get(numbers.ENTRY_VALUE, b"")))
            if plain is not None:
                found[parts.get(numbers.ENTRY_KEY, b"").decode("utf-8", "replace")] = plain
    return found


def metric_tags(value: Value) -> list[str]:
    """The tags that `add_hparams` calls metrics."""
    told = message(value.plugin_content).get(numbers.HPARAMS_EXPERIMENT, b"")
    infos = [message(info) for number, info in fields(told) if number == numbers.EXPERIMENT_METRICS]
    names = [message(info.get(numbers.METRIC_NAME, b"")) for info in infos]
    return [name.get(numbers.METRIC_TAG, b"").decode("utf-8", "surrogateescape") for name in names]


def _plain(parts: dict[int, Any]) -> bool | float | str | None:
    if numbers.PLAIN_NUMBER in parts:
        return _read_double(parts[numbers.PLAIN_NUMBER])
    if numbers.PLAIN_TEXT in parts:
        text: str = parts[numbers.PLAIN_TEXT].decode("utf-8", "replace")
        return text
    return bool(parts[numbers.PLAIN_TRUTH]) if numbers.PLAIN_TRUTH in parts else None


def _double(data: bytes, number: int) -> float:
    return _read_double(message(data).get(number, bytes(8)))


def _read_double(data: bytes) -> float:
    (value,) = struct.unpack("<d", data)
    return float(value)


def _packed(data: bytes, number: int) -> NDArray[np.float64]:
    joined = b"".join(value for field, value in fields(data) if field == number)
    return np.frombuffer(joined, "<f8").astype(np.float64)
