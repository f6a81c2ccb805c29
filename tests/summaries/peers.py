"""The same call made to our writer and to a peer's, and what both of them wrote."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.util import tensor_util
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from torch_debugger import SummaryWriter

Call = Callable[[Any], object]


def written_by(writer_class: Any, folder: Path, call: Call) -> list[Any]:
    """The events of one closed writer, as plain values that can be compared."""
    with writer_class(str(folder)) as writer:
        call(writer)
    return plain_events(folder)


def ours_and_theirs(folder: Path, call: Call, theirs: Any = TorchWriter) -> tuple[list[Any], list[Any]]:
    return written_by(SummaryWriter, folder / "ours", call), written_by(theirs, folder / "theirs", call)


def plain_events(folder: Path) -> list[Any]:
    return [
        (path.parent.relative_to(folder).as_posix(), event.step, *plain_value(value))
        for path in sorted(folder.rglob("*tfevents*"))
        for event in events(path)
        for value in event.summary.value
    ]


def events(path: Path) -> list[Any]:
    return [Event.FromString(payload) for payload in RawEventFileLoader(str(path)).Load()]


def plain_value(value: Any) -> tuple[Any, ...]:
    kind = value.WhichOneof("value") or "metadata"
    plugin = value.metadata.plugin_data
    named = value.metadata.display_name, value.metadata.summary_description
    return value.tag, kind, plugin.plugin_name, bytes(plugin.content), *named, _content(kind, value)


def accumulated(folder: Path) -> Any:
    """All that TensorBoard's loader finds; 0 asks it not to drop points."""
    everything = dict.fromkeys(("scalars", "tensors", "images", "audio", "histograms"), 0)
    return EventAccumulator(str(folder), size_guidance=everything).Reload()


def _content(kind: str, value: Any) -> Any:
    if kind == "simple_value":
        return value.simple_value
    if kind == "image":
        picture = value.image
        pixels = np.asarray(Image.open(io.BytesIO(picture.encoded_image_string)))
        return picture.height, picture.width, picture.colorspace, pixels.shape, pixels.tobytes()
    if kind == "audio":
        sound = value.audio
        with wave.open(io.BytesIO(sound.encoded_audio_string)) as file:
            samples = file.getparams(), file.readframes(file.getnframes())
        return sound.sample_rate, sound.num_channels, sound.length_frames, sound.content_type, samples
    if kind == "histo":
        histogram = value.histo
        moments = histogram.min, histogram.max, histogram.num
        return *moments, list(histogram.bucket_limit), list(histogram.bucket)
    if kind == "tensor":
        array = tensor_util.make_ndarray(value.tensor)
        return array.dtype, array.shape, array.tolist()
    return None
