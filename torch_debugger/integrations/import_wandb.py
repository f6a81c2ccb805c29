"""Runs of W&B on this machine: `wandb/*run-*/*.wandb`, LevelDB's log format around protobuf messages."""

from __future__ import annotations

import io
import json
import wave
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from torch_debugger.integrations.imported_run import NO_STEP, ForeignRun, NoStepError, read_inside, step_of
from torch_debugger.log.decoder_values import FOREIGN
from torch_debugger.log.protobuf import fields, message
from torch_debugger.records import HistogramSummary, LoggedSummary, PictureSummary, Scalars, SoundSummary, TextSummary
from torch_debugger.records.run import HparamValue

# The log: a header, then blocks of chunks, each with the CRC-32 of its kind and content. A record that spans
# chunks is FIRST, MIDDLE ..., LAST.
_MAGIC = b":W&B"
_FILE_HEADER, _BLOCK, _CHUNK_HEADER = 7, 32768, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
# Numbers of fields in its messages.
_HISTORY, _CONFIG, _RUN, _EXIT = 2, 5, 17, 18
_ITEM, _ITEM_KEY, _ITEM_NESTED_KEY, _ITEM_VALUE = 1, 1, 2, 16
_RUN_ID, _RUN_CONFIG, _RUN_NAME = 1, 4, 8
_EXIT_CODE = 1


def read_wandb_run(root: Path, path: Path) -> ForeignRun:
    """What is there; a file that ends in the middle, or is damaged, is read up to there."""
    run = ForeignRun(f"wandb-{path.stem.removeprefix('run-')}", path.stem)
    for start, record in _records(read_inside(root, path)):
        try:
            if record is None:
                run.damaged.append(f"{path} is damaged from its byte {start:,} on; the rest of it is not read.")
            else:
                _add(run, record, root, path)
        except NoStepError:
            run.left_out[f"{path}: {NO_STEP}"] += 1
        except FOREIGN:
            run.left_out[f"{path}: records left out, as they hold something else than W&B writes"] += 1
    return run


def _records(data: bytes) -> Iterator[tuple[int, bytes | None]]:
    """Where each begins, and what it holds. The last is None if the file is damaged from there on."""
    position = start = _FILE_HEADER if data.startswith(_MAGIC) and len(data) >= _FILE_HEADER else 0
    content, is_open = bytearray(), False  # to which a part is added without copying the others
    while _FILE_HEADER <= position < len(data):
        left = _BLOCK - position % _BLOCK
        if left < _CHUNK_HEADER:
            position += left
            continue
        start = start if is_open else position
        body = position + _CHUNK_HEADER
        end = body + int.from_bytes(data[body - 3 : body - 1], "little")
        checked = data[body - 1 : end]  # its kind too
        is_sound = end <= len(data) and zlib.crc32(checked) == int.from_bytes(data[position : body - 3], "little")
        if not is_sound or checked[0] not in ((_MIDDLE, _LAST) if is_open else (_FULL, _FIRST)):
            break
        content += checked[1:]
        position, is_open = end, checked[0] in (_FIRST, _MIDDLE)
        if not is_open:
            yield start, bytes(content)
            content.clear()
    if is_open or position < max(len(data), _FILE_HEADER):
        yield start, None


def _add(run: ForeignRun, record: bytes, root: Path, path: Path) -> None:
    parts = message(record)
    if _RUN in parts:
        about = message(parts[_RUN])
        run.name = (about.get(_RUN_NAME) or about[_RUN_ID]).decode("utf-8", "replace")
        run.hparams |= _settings(about.get(_RUN_CONFIG, b""))
    elif _CONFIG in parts:
        run.hparams |= _settings(parts[_CONFIG])
    elif _EXIT in parts:
        run.outcome = "crashed" if message(parts[_EXIT]).get(_EXIT_CODE, 0) else "finished"
    elif _HISTORY in parts:
        items = dict(_items(parts[_HISTORY]))
        step = step_of(items.pop("_step", 0))
        media = _media_of(items)
        row = {key: number for key, value in items.items() if (number := _number(value)) is not None}
        time = row.pop("_timestamp", 0.0)
        row.pop("_runtime", None)
        run.points.append(Scalars(step, time, row))
        for key, value in media.items():
            try:
                run.summaries += summaries_of(root, path.parent / "files", key, value, step, time)
            except NoFormError as error:
                run.left_out[f"{path}: values left out, as a log has no form for {error}"] += 1
            except (OSError, EOFError, wave.Error, SyntaxError, *FOREIGN):  # what wave and Pillow raise besides
                lost = "images, sounds and tables left out, as they are not there or cannot be read"
                run.left_out[f"{path}: {lost}"] += 1


def _media_of(items: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the client has described field by field (`sample/_type`, `sample/path`), taken out of the row."""
    found = {key: items.pop(key) for key, value in list(items.items()) if isinstance(value, dict)}
    for key in [name.removesuffix("/_type") for name in items if name.endswith("/_type")]:
        parts = [name for name in items if name.startswith(f"{key}/")]
        found[key] = {name.removeprefix(f"{key}/"): items.pop(name) for name in parts}
    return found


def _settings(config: bytes) -> dict[str, HparamValue]:
    """Without what W&B keeps there for itself."""
    items = (pair for key, value in _items(config) if key != "_wandb" for pair in _flat(key, value))
    return {key: value for key, value in items if isinstance(value, HparamValue)}


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, each in value.items():
        yield from _flat(f"{key}.{inner}", each)


def _items(data: bytes) -> Iterator[tuple[str, Any]]:
    for number, item in fields(data):
        if number == _ITEM:
            parts = [*fields(item)]
            keys = [value for field, value in parts if field in (_ITEM_KEY, _ITEM_NESTED_KEY)]
            value = next((value for field, value in parts if field == _ITEM_VALUE), b"null")
            yield "/".join(key.decode("utf-8", "replace") for key in keys), json.loads(value)


def _number(value: Any) -> float | None:
    """JSON has no NaN and no infinity: W&B writes them as text."""
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None


# Images, films, histograms, sounds, tables and HTML of a W&B run, as the summaries our log has for them.
#
# The rows of a run hold a description of each; images and tables lie beside it in files.
_MOST_ROWS, _MOST_IMAGES = 200, 64  # of a table, and of one key in one step
_LARGEST_PIXELS = 1 << 24
_LARGEST_BYTES = 1 << 26
_MOST_FRAMES = 300
_MS_PER_FRAME = 250  # where a film does not say it


class NoFormError(ValueError):
    """A kind of W&B that the log has no form for."""


def summaries_of(root: Path, files: Path, key: str, value: Any, step: int, time: float) -> Iterator[LoggedSummary]:
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
