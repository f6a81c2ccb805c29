"""What scripts log, as the events that TensorBoard's own plugins read: one file per kind."""

from __future__ import annotations

import io
import math
import struct
import wave
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from torch_debugger.log import protobuf as numbered
from torch_debugger.log.histogram_buckets import histogram_of, measure_values
from torch_debugger.log.protobuf import (
    FIXED32,
    FIXED64,
    VALUE_SIMPLE,
    bytes_field,
    event_time,
    key,
    number_field,
    text,
    varint,
)
from torch_debugger.records import (
    Box,
    Chart,
    ChartsSummary,
    ForeignEvent,
    GraphSummary,
    HistogramSummary,
    HparamsSummary,
    LoggedSummary,
    MeshSummary,
    PictureSummary,
    PrCurveSummary,
    SoundSummary,
    TensorSummary,
    TextSummary,
    UncountedSummary,
)
from torch_debugger.records.run import HparamValue
from torch_debugger.system.redaction import redact_text

# A histogram as a HistogramProto, which TensorBoard's histograms and distributions show.
#
# It has no place for values that are NaN or Inf: scalars beside it count them.


def histogram_event(record: HistogramSummary) -> bytes:
    numbers = (record.minimum, record.maximum, record.count, record.total, record.squares)
    moments = b"".join(double_field(number, float(one)) for number, one in enumerate(numbers, start=1))
    limits = bytes_field(numbered.HISTOGRAM_LIMITS, np.asarray(record.limits, "<f8").tobytes())
    counts = bytes_field(numbered.HISTOGRAM_COUNTS, np.asarray(record.counts, "<f8").tobytes())
    histogram = value(record.tag, bytes_field(numbered.VALUE_HISTOGRAM, moments, limits, counts))
    counted = [
        value(f"{record.tag}/{why}", key(VALUE_SIMPLE, FIXED32), struct.pack("<f", count))
        for why, count in (("nan", record.nan), ("inf", record.inf))
        if count
    ]
    return event(record, histogram, *counted)


def uncounted_event(record: UncountedSummary) -> bytes:
    measured = measure_values(record.values, "tensorflow")
    return histogram_event(histogram_of(measured, record.step, record.time, record.tag, record.max_bins))


# A picture as a PNG and a film as a GIF, which TensorBoard's image tab shows.
_IMAGE_CHANNELS = 3
_LINE_PIXELS = 2
_COLORS = 256  # of a GIF


def picture_event(record: PictureSummary) -> bytes:
    _, height, width, channels = record.frames.shape
    encoded = _gif(record) if record.film else _png(record)
    parts = (
        number_field(numbered.IMAGE_HEIGHT, height),
        number_field(numbered.IMAGE_WIDTH, width),
        number_field(_IMAGE_CHANNELS, channels),
        bytes_field(numbered.IMAGE_DATA, encoded),
    )
    return event(record, value(record.tag, bytes_field(numbered.VALUE_IMAGE, *parts)))


def _png(record: PictureSummary) -> bytes:
    picture = _picture(record.frames[0])
    for box in record.boxes:
        _draw(picture, box)
    if record.rescale != 1:
        width, height = (max(1, int(side * record.rescale)) for side in picture.size)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def _gif(record: PictureSummary) -> bytes:
    first, *others = (_picture(frame).convert("RGB").quantize(_COLORS) for frame in record.frames)
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=round(1000 / record.frames_per_s), loop=0)
    return file.getvalue()


def _picture(pixels: NDArray[np.uint8]) -> Image.Image:
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def _draw(picture: Image.Image, box: Box) -> None:
    draw = ImageDraw.Draw(picture)
    left, top, right, bottom = box.left, box.top, box.right, box.bottom
    corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(corners, fill="Red", width=_LINE_PIXELS)
    if box.label:
        font = ImageFont.load_default()
        text_left, text_top, text_right, text_bottom = font.getbbox(box.label)
        width, height = text_right - text_left, text_bottom - text_top
        margin = math.ceil(0.05 * height)
        draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
        draw.text((left + margin, bottom - height - margin), box.label, fill="black", font=font)


# A sound as a WAV file, which TensorBoard's audio tab plays.
_SOUND_CHANNELS, _SOUND_LENGTH = 2, 3


def sound_event(record: SoundSummary) -> bytes:
    length, channels = record.samples.shape
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(record.rate)
        sound.writeframes(np.ascontiguousarray(record.samples, "<i2").tobytes())
    parts = (
        key(numbered.SOUND_RATE, FIXED32) + struct.pack("<f", record.rate),
        number_field(_SOUND_CHANNELS, channels),
        number_field(_SOUND_LENGTH, length),
        bytes_field(numbered.SOUND_DATA, file.getvalue()),
        bytes_field(numbered.SOUND_TYPE, b"audio/wav"),
    )
    return event(record, value(record.tag, bytes_field(numbered.VALUE_SOUND, *parts)))


# A text, which TensorBoard's text tab shows as Markdown; secrets in it are not written.
_TAG_END = "/text_summary"  # part of every text's tag, since TensorBoard's first text plugin


def text_event(record: TextSummary) -> bytes:
    tensor = numbered.string_tensor(text(redact_text(record.text)), shape=(1,))
    shown = value(record.tag + _TAG_END, metadata("text"), bytes_field(numbered.VALUE_TENSOR, tensor))
    return event(record, shown)


# An array for whichever plugin it names.
def tensor_event(record: TensorSummary) -> bytes:
    whose = metadata(record.plugin, record.content, record.display_name, record.description)
    return event(record, value(record.tag, whose, array_tensor(record.values)))


# A precision-recall curve, which TensorBoard's PR curves tab shows.
_THRESHOLDS = 2


def pr_curve_event(record: PrCurveSummary) -> bytes:
    whose = metadata("pr_curves", number_field(_THRESHOLDS, record.thresholds))
    return event(record, value(record.tag, whose, array_tensor(record.curve.astype(np.float32))))


# Points, their colors and the faces between them, which TensorBoard's mesh tab shows in space.
_NAME, _KIND, _CONFIG, _SHAPE, _COMPONENTS = 2, 3, 5, 6, 7  # of MeshPluginData
_KINDS = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


def mesh_event(record: MeshSummary) -> bytes:
    optional_parts = {"VERTEX": record.vertices, "FACE": record.faces, "COLOR": record.colors}
    parts = {kind: part for kind, part in optional_parts.items() if part is not None}
    components = sum(1 << _KINDS[kind] for kind in parts)
    values = []
    for kind, part in parts.items():
        content = (
            bytes_field(_NAME, text(record.tag))
            + number_field(_KIND, _KINDS[kind])
            + bytes_field(_CONFIG, text(record.config))
            + bytes_field(_SHAPE, *map(varint, part.shape))
            + number_field(_COMPONENTS, components)
        )
        values.append(value(f"{record.tag}_{kind}", metadata("mesh", content), array_tensor(part)))
    return event(record, *values)


# Hyperparameters and the metrics they are compared by, for TensorBoard's HParams tab.
#
# It wants three things of a run: what the experiment varies and measures, what this run began with, and that it has
# ended.
_TAG = "_hparams_/"
_EXPERIMENT, _SESSION_START, _SESSION_END = 2, 3, 4  # of HParamsPluginData
_EXPERIMENT_HPARAM, _EXPERIMENT_METRIC = 4, 5
_HPARAM_NAME, _HPARAM_TYPE, _HPARAM_CHOICES = 1, 4, 5
_METRIC_NAME, _NAME_TAG = 1, 2
_START_HPARAM, _START_TIME = 1, 5
_END_STATUS, _END_TIME = 1, 2
_STATUS_SUCCESS = 1
_TYPE_STRING, _TYPE_BOOL, _TYPE_NUMBER = 1, 2, 3
_VALUE_NUMBER, _VALUE_STRING, _VALUE_BOOL = 2, 3, 4  # of google.protobuf.Value


def hparams_events(record: HparamsSummary) -> list[bytes]:
    contents = {
        "experiment": bytes_field(_EXPERIMENT, _experiment(record)),
        "session_start_info": bytes_field(_SESSION_START, _start(record)),
        "session_end_info": bytes_field(
            _SESSION_END, number_field(_END_STATUS, _STATUS_SUCCESS), double_field(_END_TIME, record.time)
        ),
    }
    return [event(record, value(_TAG + name, metadata("hparams", body))) for name, body in contents.items()]


def _experiment(record: HparamsSummary) -> bytes:
    hparams = []
    for name, one in record.values.items():
        kind = _TYPE_STRING if isinstance(one, str) else _TYPE_BOOL if isinstance(one, bool) else _TYPE_NUMBER
        parts = [bytes_field(_HPARAM_NAME, text(name)), number_field(_HPARAM_TYPE, kind)]
        if choices := record.choices.get(name, ()):
            parts.append(bytes_field(_HPARAM_CHOICES, *(bytes_field(1, _value(each)) for each in choices)))
        hparams.append(bytes_field(_EXPERIMENT_HPARAM, *parts))
    metrics = (
        bytes_field(_EXPERIMENT_METRIC, bytes_field(_METRIC_NAME, bytes_field(_NAME_TAG, text(tag))))
        for tag in record.metrics
    )
    return b"".join([*hparams, *metrics])


def _start(record: HparamsSummary) -> bytes:
    entries = (
        bytes_field(_START_HPARAM, bytes_field(1, text(name)), bytes_field(2, _value(one)))
        for name, one in record.values.items()
    )
    return b"".join(entries) + double_field(_START_TIME, record.time)


def _value(one: HparamValue) -> bytes:
    if isinstance(one, str):
        return bytes_field(_VALUE_STRING, text(one))
    return number_field(_VALUE_BOOL, one) if isinstance(one, bool) else double_field(_VALUE_NUMBER, float(one))


# Which curves belong together, for TensorBoard's custom scalars tab.
TAG = "custom_scalars__config__"


def charts_event(record: ChartsSummary) -> bytes:
    categories: dict[str, list[bytes]] = {}
    for chart in record.charts:
        categories.setdefault(chart.category, []).append(bytes_field(numbered.CATEGORY_CHART, _chart(chart)))
    layout = b"".join(
        bytes_field(numbered.LAYOUT_CATEGORY, bytes_field(numbered.CATEGORY_TITLE, text(title)), *charts)
        for title, charts in categories.items()
    )
    tensor = bytes_field(numbered.VALUE_TENSOR, numbered.string_tensor(layout))
    return event(record, value(TAG, metadata("custom_scalars"), tensor))


def _chart(chart: Chart) -> bytes:
    title = bytes_field(numbered.CHART_TITLE, text(chart.title))
    if not chart.margin:
        lines = (bytes_field(numbered.LINES_TAG, text(tag)) for tag in chart.tags)
        return title + bytes_field(numbered.CHART_LINES, *lines)
    series = (bytes_field(number, text(tag)) for number, tag in enumerate(chart.tags, start=1))
    return title + bytes_field(numbered.CHART_MARGIN, bytes_field(numbered.MARGIN_SERIES, *series))


_EVENTS: dict[type[LoggedSummary], Callable[[Any], bytes | list[bytes]]] = {
    ChartsSummary: charts_event,
    ForeignEvent: lambda record: record.event,  # what a script made itself
    GraphSummary: lambda record: event_time(record.time) + bytes_field(numbered.EVENT_GRAPH, record.graph),
    HistogramSummary: histogram_event,
    HparamsSummary: hparams_events,
    MeshSummary: mesh_event,
    PictureSummary: picture_event,
    PrCurveSummary: pr_curve_event,
    SoundSummary: sound_event,
    TensorSummary: tensor_event,
    TextSummary: text_event,
    UncountedSummary: uncounted_event,
}


def summary_events(record: LoggedSummary) -> list[bytes]:
    """The payloads for an event file. Slow for pictures and sounds: meant for the log's own thread."""
    made = _EVENTS[type(record)](record)
    return made if isinstance(made, list) else [made]


# The parts that the events of all summaries share: values with a tag, metadata, arrays.
_DISPLAY_NAME, _DESCRIPTION = 2, 3  # of SummaryMetadata
# DataType in types.proto, by numpy's own name
_TYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9,
    "bool": 10, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip


def event(record: LoggedSummary, *values: bytes) -> bytes:
    return numbered.event_around(b"".join(values), record.step, record.time)


def value(tag: str, *parts: bytes) -> bytes:
    return bytes_field(numbered.SUMMARY_VALUE, bytes_field(numbered.VALUE_TAG, numbered.text(tag)), *parts)


def metadata(plugin: str, content: bytes = b"", display_name: str = "", description: str = "") -> bytes:
    """Says which of TensorBoard's plugins shows the value."""
    named = bytes_field(numbered.PLUGIN_NAME, plugin.encode())
    parts = [bytes_field(numbered.METADATA_PLUGIN, named, bytes_field(numbered.PLUGIN_CONTENT, content))]
    if display_name:
        parts.append(bytes_field(_DISPLAY_NAME, numbered.text(display_name)))
    if description:
        parts.append(bytes_field(_DESCRIPTION, numbered.text(description)))
    return bytes_field(numbered.VALUE_METADATA, *parts)


def array_tensor(values: NDArray[np.generic]) -> bytes:
    if values.dtype.name not in _TYPES:
        raise TypeError(f"TensorBoard has no tensors of dtype {values.dtype.name}")
    kind = number_field(numbered.TENSOR_TYPE, _TYPES[values.dtype.name])
    content = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    shape = numbered.shape_field(values.shape)
    return bytes_field(numbered.VALUE_TENSOR, kind, shape, bytes_field(numbered.TENSOR_CONTENT, content))


def double_field(number: int, value: float) -> bytes:
    return key(number, FIXED64) + struct.pack("<d", value)
