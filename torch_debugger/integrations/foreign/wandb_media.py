"""Images, films, histograms, sounds, tables and HTML of a W&B run, as the summaries our log has for them.

The rows of a run hold a description of each; images and tables lie beside it in files.
"""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from torch_debugger.integrations.foreign.inside import read_inside
from torch_debugger.records import HistogramSummary, PictureSummary, SoundSummary, Summary, TextSummary

_MOST_ROWS, _MOST_IMAGES = 200, 64  # of a table, and of one key in one step
_LARGEST_PIXELS = 1 << 24
_LARGEST_BYTES = 1 << 26
_MOST_FRAMES = 300
_MS_PER_FRAME = 250  # where a film does not say it


class NoFormError(ValueError):
    """A kind of W&B that the log has no form for."""


def summaries_of(root: Path, files: Path, key: str, value: Any, step: int, time: float) -> Iterator[Summary]:
    """Raises OSError, ValueError where a file is missing or holds something else, NoFormError for a kind that
    the log has no form for."""
    kind = value.get("_type") if isinstance(value, dict) else None
    if kind == "histogram":
        yield _histogram(key, value, step, time)
    elif kind == "image-file":
        yield _picture(root, files / str(value["path"]), key, step, time)
    elif kind == "images/separated":
        for number, name in enumerate(value["filenames"][:_MOST_IMAGES]):
            yield _picture(root, files / str(name), f"{key}/{number}", step, time)
    elif kind == "video-file" and str(value["path"]).endswith(".gif"):
        yield _film(root, files / str(value["path"]), key, step, time)
    elif kind == "audio-file" and str(value["path"]).endswith(".wav"):
        yield _sound(root, files / str(value["path"]), key, step, time)
    elif kind == "html-file":
        page = read_inside(root, files / str(value["path"]), _LARGEST_BYTES).decode("utf-8", "replace")
        yield TextSummary(step, time, key, _Letters.of(page))
    elif kind == "table-file":
        plain = json.loads(read_inside(root, files / str(value["path"]), _LARGEST_BYTES))
        yield TextSummary(step, time, key, _table(plain["columns"], plain["data"]))
    elif kind is not None:
        raise NoFormError(str(kind))


def _histogram(key: str, value: dict[str, Any], step: int, time: float) -> HistogramSummary:
    counts = numpy.asarray(value["values"], float)
    packed = value.get("packedBins")
    if packed:
        edges = packed["min"] + packed["size"] * numpy.arange(len(counts) + 1, dtype=float)
    else:
        edges = numpy.asarray(value["bins"], float)
    if counts.ndim != 1 or edges.shape != (len(counts) + 1,) or not len(counts):
        raise ValueError("a histogram has one edge more than counts")
    middles = (edges[1:] + edges[:-1]) / 2
    total, squares = float(counts @ middles), float(counts @ middles**2)  # W&B keeps no more than the bins
    ends = float(edges[0]), float(edges[-1])
    return HistogramSummary(step, time, key, *ends, float(counts.sum()), total, squares, edges[1:], counts)


def _picture(root: Path, path: Path, key: str, step: int, time: float) -> PictureSummary:
    with Image.open(io.BytesIO(read_inside(root, path, _LARGEST_BYTES))) as image:
        if image.width * image.height > _LARGEST_PIXELS:
            raise ValueError("an image is too large")
        pixels = numpy.asarray(image.convert("RGBA" if "A" in image.mode else "RGB"), numpy.uint8)
    return PictureSummary(step, time, key, pixels[None])


def _film(root: Path, path: Path, key: str, step: int, time: float) -> PictureSummary:
    with Image.open(io.BytesIO(read_inside(root, path, _LARGEST_BYTES))) as film:
        frames = min(getattr(film, "n_frames", 1), _MOST_FRAMES)
        if film.width * film.height * frames > _LARGEST_PIXELS:
            raise ValueError("a film is too large")
        pace = film.info.get("duration") or _MS_PER_FRAME
        pixels = []
        for frame in range(frames):
            film.seek(frame)
            pixels.append(numpy.asarray(film.convert("RGB"), numpy.uint8))
    return PictureSummary(step, time, key, numpy.stack(pixels), 1000 / pace, film=True)


def _sound(root: Path, path: Path, key: str, step: int, time: float) -> SoundSummary:
    with wave.open(io.BytesIO(read_inside(root, path, _LARGEST_BYTES))) as sound:
        if sound.getsampwidth() != 2:
            raise ValueError("a sound of other than 16 bits")
        samples = numpy.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(numpy.int16)
        rate, channels = sound.getframerate(), sound.getnchannels()
    return SoundSummary(step, time, key, samples.reshape(-1, channels), rate)


class _Letters(HTMLParser):
    """The words of a page; nothing of it is run, and what is no word is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._words: list[str] = []
        self._hidden = 0

    @classmethod
    def of(cls, page: str) -> str:
        parser = cls()
        parser.feed(page)
        parser.close()
        return "".join(parser._words).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._words.append(data)


def _table(columns: list[Any], rows: list[list[Any]]) -> str:
    """As Markdown, which the page and TensorBoard show as a table."""
    lines = [_row(columns), _row("---" for _ in columns), *map(_row, rows[:_MOST_ROWS])]
    more = len(rows) - _MOST_ROWS
    return "\n".join([*lines, f"\nand {more:,} more rows"] if more > 0 else lines)


def _row(cells: Any) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(value: Any) -> str:
    if isinstance(value, dict):  # an image in a table is a file of its own
        value = value.get("path") or value.get("_type") or value
    return str(value).replace("|", "\\|").replace("\n", " ")
