"""What a log holds beside scalars, decoded when it is asked for: histograms, pictures, texts, sounds."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log import decoder_values as parsing
from torch_debugger.log import protobuf as numbers
from torch_debugger.log.decoder_values import (
    GRAPHS,
    HISTOGRAMS,
    MESHES,
    PICTURES,
    SOUNDS,
    TEXTS,
    SummaryValue,
    read_numbers,
    read_strings,
)
from torch_debugger.log.graphs import graphs
from torch_debugger.log.protobuf import VALUE_TENSOR, fields, message

# Meshes and point clouds of `add_mesh`: which tags belong together, and their numbers at one step.
_NAME, _KIND = 2, 3  # of MeshPluginData
VERTICES, FACES, COLORS = "vertices", "faces", "colors"
_KINDS = {1: VERTICES, 2: FACES, 3: COLORS}
# For a tag whose first event, which alone says what it is, is not there; tensorboardX ends tags by the number.
_ENDINGS = {"VERTEX": VERTICES, "FACE": FACES, "COLOR": COLORS, "1": VERTICES, "2": FACES, "3": COLORS}


@dataclass
class MeshTags:
    """One mesh: the tag of each of its parts."""

    name: str
    tags: dict[str, str] = field(default_factory=dict)


def mesh_parts(step: int, time: float, value: SummaryValue) -> Iterator[NDArray[np.float64]]:
    """[batch, points, 3]"""
    numbers = read_numbers(value.body)
    if numbers.ndim not in (2, 3) or numbers.shape[-1] != 3:
        raise ValueError(f"a part of a mesh of shape {list(numbers.shape)}")
    yield numbers if numbers.ndim == 3 else numbers[None]


def part_of(tag: str, content: bytes) -> tuple[str, str]:
    """The mesh's name, and what of it this tag holds; empty where that cannot be told."""
    try:
        plugin_data = message(content)
        name, kind = plugin_data.get(_NAME, b"").decode("utf-8", "replace"), _KINDS.get(plugin_data.get(_KIND, 0), "")
    except (ValueError, TypeError, AttributeError):
        name = kind = ""
    around, _, ending = tag.rpartition("_")
    if not kind:
        name, kind = around, _ENDINGS.get(ending, "")
    return name or around, kind


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts between edges: `counts[i]` values lie in `lefts[i]` to `rights[i]`."""

    step: int
    time: float
    lefts: NDArray[np.float64] = field(repr=False)
    rights: NDArray[np.float64] = field(repr=False)
    counts: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoggedPicture:
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


def histograms(step: int, time: float, value: SummaryValue) -> Iterator[Histogram]:
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


def pictures(step: int, time: float, value: SummaryValue) -> Iterator[LoggedPicture]:
    if value.form == VALUE_TENSOR:
        width, height, *images = read_strings(value.body)
        for image in images:
            yield LoggedPicture(step, time, int(width), int(height), image)
        return
    parts = message(value.body)
    width, height = parts.get(numbers.IMAGE_WIDTH, 0), parts.get(numbers.IMAGE_HEIGHT, 0)
    yield LoggedPicture(step, time, width, height, parts.get(numbers.IMAGE_DATA, b""))


def texts(step: int, time: float, value: SummaryValue) -> Iterator[Text]:
    lines = [line.decode("utf-8", "replace") for line in read_strings(value.body)]
    yield Text(step, time, "\n".join(lines))


def sounds(step: int, time: float, value: SummaryValue) -> Iterator[Sound]:
    if value.form == VALUE_TENSOR:  # pairs of sound and label
        for sound in read_strings(value.body)[::2]:
            yield Sound(step, time, sound)
        return
    parts = message(value.body)
    kind = parts.get(numbers.SOUND_TYPE, b"audio/wav").decode("utf-8", "replace")
    yield Sound(step, time, parts.get(numbers.SOUND_DATA, b""), kind)


DECODERS: dict[str, Callable[[int, float, SummaryValue], Iterator[Any]]] = {
    HISTOGRAMS: histograms,
    PICTURES: pictures,
    TEXTS: texts,
    SOUNDS: sounds,
    GRAPHS: graphs,
    MESHES: mesh_parts,
}


def hparams(value: SummaryValue) -> dict[str, bool | float | str]:
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


def metric_tags(value: SummaryValue) -> list[str]:
    """The tags that `add_hparams` calls metrics."""
    experiment = message(value.plugin_content).get(numbers.HPARAMS_EXPERIMENT, b"")
    infos = [message(info) for number, info in fields(experiment) if number == numbers.EXPERIMENT_METRICS]
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


# Precision-recall curves as `add_pr_curve` logs them: six numbers for each threshold.
PR_CURVES = "pr_curves"
_ROWS = 6


@dataclass(frozen=True, slots=True, eq=False)
class PrCurve:
    """By ascending threshold. Where nothing is called positive any more, precision has no value: those
    thresholds are left out."""

    step: int
    time: float
    thresholds: NDArray[np.float64] = field(repr=False)
    true_positives: NDArray[np.float64] = field(repr=False)
    false_positives: NDArray[np.float64] = field(repr=False)
    precision: NDArray[np.float64] = field(repr=False)
    recall: NDArray[np.float64] = field(repr=False)

    @property
    def average_precision(self) -> float:
        """The mean of precision over recall, without interpolation: the area below the steps of the curve."""
        steps = self.recall - np.append(self.recall[1:], 0.0)
        return float((steps * self.precision).sum())

    @property
    def best(self) -> int:
        """Where the harmonic mean of precision and recall (F1) is highest."""
        return int(self.f1.argmax())

    @property
    def f1(self) -> NDArray[np.float64]:
        both = self.precision + self.recall
        means: NDArray[np.float64] = 2 * self.precision * self.recall / np.where(both > 0, both, 1.0)
        return means


def pr_curves(step: int, time: float, value: SummaryValue) -> Iterator[PrCurve]:
    table = read_numbers(value.body)
    if table.ndim != 2 or table.shape[0] != _ROWS or not table.shape[1]:
        raise ValueError(f"a table of shape {table.shape} where six rows belong")
    thresholds = np.linspace(0.0, 1.0, table.shape[1])
    called = np.flatnonzero(table[0] + table[1])
    some = slice(0, called[-1] + 1 if len(called) else 1)
    yield PrCurve(step, time, thresholds[some], *(table[row, some] for row in (0, 1, 4, 5)))


# The layout of `add_custom_scalars`: categories of charts, each with the curves that belong into it.
SCALAR_CHARTS = "custom_scalars"


@dataclass(frozen=True, slots=True)
class Margin:
    """The tags of a value and of the band around it."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class ScalarChart:
    title: str
    patterns: tuple[str, ...] = ()  # regular expressions that a tag begins with
    margins: tuple[Margin, ...] = ()

    def tags_in(self, tags: Sequence[str]) -> list[str]:
        """Those that belong into it, in the order of the patterns; one that is no pattern is a plain name."""
        found = [tag for pattern in self.patterns for tag in tags if _fits(pattern, tag)]
        return list(dict.fromkeys(found))


@dataclass(slots=True)
class ScalarCategory:
    title: str
    closed: bool = False
    charts: list[ScalarChart] = field(default_factory=list)


def scalar_charts(values: Iterable[SummaryValue]) -> list[ScalarCategory]:
    """Of all layouts, one after the other: a writer that adds chart by chart writes one for each."""
    merged: dict[str, ScalarCategory] = {}
    for value in values:
        with suppress(*parsing.FOREIGN):
            for layout in read_strings(value.body):
                for category in list(_categories(layout)):
                    known = merged.setdefault(category.title, category)
                    known.charts += [chart for chart in category.charts if chart not in known.charts]
    return list(merged.values())


def _fits(pattern: str, tag: str) -> bool:
    try:
        return re.match(pattern, tag) is not None
    except re.error:
        return pattern == tag


def _categories(layout: bytes) -> Iterator[ScalarCategory]:
    for each in _messages(layout, numbers.LAYOUT_CATEGORY):
        parts = message(each)
        charts = [_chart(chart) for chart in _messages(each, numbers.CATEGORY_CHART)]
        closed = bool(parts.get(numbers.CATEGORY_CLOSED, 0))
        yield ScalarCategory(_text(parts.get(numbers.CATEGORY_TITLE, b"")), closed, charts)


def _chart(chart: bytes) -> ScalarChart:
    parts = message(chart)
    lines = _messages(parts.get(numbers.CHART_LINES, b""), numbers.LINES_TAG)
    margins = _messages(parts.get(numbers.CHART_MARGIN, b""), numbers.MARGIN_SERIES)
    names = (numbers.SERIES_VALUE, numbers.SERIES_LOWER, numbers.SERIES_UPPER)
    bands = tuple(Margin(*(_text(message(each).get(number, b"")) for number in names)) for each in margins)
    return ScalarChart(_text(parts.get(numbers.CHART_TITLE, b"")), tuple(map(_text, lines)), bands)


def _messages(data: bytes, number: int) -> list[bytes]:
    return [value for each, value in fields(data) if each == number and isinstance(value, bytes)]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
