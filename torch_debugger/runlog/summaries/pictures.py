"""A picture as a PNG and a film as a GIF, which TensorBoard's image tab shows."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from torch_debugger.records import Box, PictureSummary
from torch_debugger.runlog.summaries.values import event, value
from torch_debugger.runlog.wire import bytes_field, number_field

_VALUE_IMAGE = 4
_HEIGHT, _WIDTH, _CHANNELS, _ENCODED = 1, 2, 3, 4
_LINE_PIXELS = 2
_COLORS = 256  # of a GIF


def picture_event(record: PictureSummary) -> bytes:
    _, height, width, channels = record.frames.shape
    encoded = _gif(record) if record.film else _png(record)
    sizes = number_field(_HEIGHT, height) + number_field(_WIDTH, width) + number_field(_CHANNELS, channels)
    return event(record, value(record.tag, bytes_field(_VALUE_IMAGE, sizes, bytes_field(_ENCODED, encoded))))


def _png(record: PictureSummary) -> bytes:
    picture = _picture(record.frames[0])
    for box in record.boxes:
        _draw(picture, box)
    if record.rescale != 1:
        size = (max(1, int(side * record.rescale)) for side in picture.size)
        width, height = size
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def _gif(record: PictureSummary) -> bytes:
    first, *others = (_picture(frame).convert("RGB").quantize(_COLORS) for frame in record.frames)
    file = io.BytesIO()
    first.save(
        file, "GIF", save_all=True, append_images=others, duration=round(1000 / record.frames_per_s), loop=0
    )
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
