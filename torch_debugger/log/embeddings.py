"""Which embeddings lie in a run's folder, as its projector_config.pbtxt has them.

Paths in that file are data: only what lies inside the run's folder is ever opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.system.errors import DebuggerError

CONFIG = "projector_config.pbtxt"
_MOST_CONFIG = 20_000_000  # bytes
_NAME_AND_STEP = re.compile(r"(.*):(\d{1,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Embedding:
    """Paths are relative to the run's folder; empty where there is no such file."""

    tag: str
    step: int
    points: str
    labels: str = ""
    sprite: str = ""
    thumbnail: tuple[int, int] = (0, 0)  # width and height of one picture in the sprite
    shape: tuple[int, ...] = ()


def has_embeddings(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, CONFIG))


def read_embeddings(folder: str) -> list[Embedding]:
    """In their order; one that was logged again at the same step counts once. Raises DebuggerError."""
    if not has_embeddings(folder):
        return []
    text = read_file(folder, CONFIG, _MOST_CONFIG).decode("utf-8", "replace")
    try:
        config = parse(text)
    except ValueError as error:
        raise DebuggerError(f"{CONFIG} cannot be read: {error}.") from error
    found = [_embedding(each) for each in config.get("embeddings", []) if isinstance(each, dict)]
    return list({(each.tag, each.step): each for each in found}.values())


def _embedding(entry: dict[str, list[Any]]) -> Embedding:
    name = _text(entry, "tensor_name") or "embedding"
    named = _NAME_AND_STEP.fullmatch(name)
    tag, step = (named[1], int(named[2])) if named else (name, 0)
    sprite = next((each for each in entry.get("sprite", []) if isinstance(each, dict)), {})
    sizes = _numbers(sprite, "single_image_dim")
    thumbnail = (sizes[0], sizes[1]) if len(sizes) > 1 else (0, 0)
    paths = (_text(entry, "tensor_path"), _text(entry, "metadata_path"), _text(sprite, "image_path"))
    return Embedding(tag, step, *paths, thumbnail, tuple(_numbers(entry, "tensor_shape")))


def _text(entry: dict[str, list[Any]], name: str) -> str:
    return next((each for each in reversed(entry.get(name, [])) if isinstance(each, str)), "")


def _numbers(entry: dict[str, list[Any]], name: str) -> list[int]:
    said = [each for each in entry.get(name, []) if isinstance(each, str)]
    return [int(each) for each in said if each.isascii() and each.isdigit() and len(each) < 12]


def inside(folder: str, path: str) -> str:
    """The real path of a plain file in the folder. Raises DebuggerError for any other, wherever links lead."""
    try:
        real = os.path.realpath(os.path.join(folder, path))
        around = os.path.realpath(folder)
        if os.path.commonpath([real, around]) != around or real == around:
            raise DebuggerError(f"{path!r} lies outside of the run's folder and is not read.")
        if not stat.S_ISREG(os.stat(real).st_mode):
            raise DebuggerError(f"{path!r} is no plain file and is not read.")
    except FileNotFoundError:
        raise DebuggerError(f"{path!r} is named in {CONFIG}, but is not in the run's folder.") from None
    except (OSError, ValueError) as error:  # a name that no file system takes
        raise DebuggerError(f"{path!r} cannot be read ({error}).") from None
    return real


def read_file(folder: str, path: str, most_bytes: int) -> bytes:
    real = inside(folder, path)
    try:
        size = os.path.getsize(real)
        if size > most_bytes:
            raise DebuggerError(f"{path!r} has {size / 1e6:,.0f} MB; up to {most_bytes / 1e6:,.0f} MB are read.")
        with open(real, "rb") as file:
            return file.read(most_bytes + 1)
    except OSError as error:
        raise DebuggerError(f"{path!r} cannot be read ({error.strerror or error}).") from error


def stamp(folder: str, path: str) -> tuple[int, int]:
    """Differs once the file was written anew."""
    state = os.stat(inside(folder, path))
    return state.st_size, state.st_mtime_ns


# The points and labels of an embedding from their files; of very many points some, evenly chosen.
_MOST_BYTES = 1_000_000_000
_MOST_LABEL_BYTES = 100_000_000
_MOST_NUMBERS = 20_000_000
_MOST_COLUMNS, _LONGEST_LABEL = 20, 200
_FLOAT_BYTES = 4


@dataclass(frozen=True, eq=False)
class EmbeddingPoints:
    matrix: NDArray[np.float32] = field(repr=False)  # [points, dimensions]
    places: NDArray[np.int64] = field(repr=False)  # of each among all
    all_points: int


@dataclass(frozen=True)
class LabelColumn:
    name: str  # empty where the file names none
    values: list[str]


def read_points(folder: str, embedding: Embedding, most: int) -> EmbeddingPoints:
    """Raises DebuggerError where there are none to read."""
    if not embedding.points:
        raise DebuggerError(
            f"The points of {embedding.tag!r} are in a TensorFlow checkpoint, which is not read: "
            "there is no tensor_path."
        )
    data = read_file(folder, embedding.points, _MOST_BYTES)
    found = _raw(data, embedding, most) if _is_raw(data, embedding) else _table(data, embedding, most)
    if not found.matrix.size:
        raise DebuggerError(f"{embedding.points} holds no points.")
    return found


def _is_raw(data: bytes, embedding: Embedding) -> bool:
    """As TensorBoard tells them apart: by the first line being text or not. A zero byte is in no table."""
    first = data[:4096]
    return b"\x00" in first or (embedding.points.endswith(".bytes") and len(embedding.shape) == 2)


def _raw(data: bytes, embedding: Embedding, most: int) -> EmbeddingPoints:
    shape = embedding.shape
    if len(shape) != 2 or shape[0] * shape[1] * _FLOAT_BYTES != len(data):
        raise DebuggerError(
            f"{embedding.points} has {len(data):,} bytes, which are no float32 numbers of shape {list(shape)}."
        )
    whole = np.frombuffer(data, "<f4").reshape(shape)
    places = _evenly(shape[0], _rows(most, shape[1]))
    return EmbeddingPoints(np.array(whole[places], np.float32), places, shape[0])


def _table(data: bytes, embedding: Embedding, most: int) -> EmbeddingPoints:
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        raise DebuggerError(f"{embedding.points} holds no points.")
    width = len(lines[0].split())
    places = _evenly(len(lines), _rows(most, width))
    text = [lines[place].decode("utf-8", "replace") for place in places]
    try:
        matrix = np.loadtxt(text, dtype=np.float32, comments=None, ndmin=2)
    except (ValueError, OverflowError) as error:
        raise DebuggerError(f"{embedding.points} is no table of numbers ({str(error)[:200]}).") from error
    return EmbeddingPoints(matrix, places, len(lines))


def read_labels(folder: str, embedding: Embedding, points: EmbeddingPoints) -> list[LabelColumn]:
    """The labels of these points. Raises DebuggerError where they do not fit."""
    if not embedding.labels:
        return []
    data = read_file(folder, embedding.labels, _MOST_LABEL_BYTES)
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    count = points.all_points
    if len(lines) not in (count, count + 1):
        lines = [line for line in lines if line.strip()]
    header = lines[0].split("\t") if len(lines) == count + 1 else []
    rows = lines[1:] if header else lines
    if len(rows) != count:
        raise DebuggerError(f"{embedding.labels} has {len(rows):,} labels for {count:,} points, so none are shown.")
    chosen = [rows[place].split("\t") for place in points.places]
    columns = min(_MOST_COLUMNS, max([len(header), *(len(row) for row in chosen[:100])]))
    return [
        LabelColumn(
            header[at] if at < len(header) else "",
            [(row[at] if at < len(row) else "")[:_LONGEST_LABEL] for row in chosen],
        )
        for at in range(columns)
    ]


def _rows(most: int, width: int) -> int:
    return max(2, min(most, _MOST_NUMBERS // max(1, width)))


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


# Protobuf's text form, as far as projector_config.pbtxt needs it: fields with numbers, texts and messages.
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<mark>[{}<>\[\]:;,])|(?P<word>[^\s{}<>\[\]:;,\#"']+)""",
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_DEEPEST = 20
_CLOSING = {"{": "}", "<": ">"}

Message = dict[str, list[Any]]  # every field as often as it stands there


def parse(text: str) -> Message:
    """Numbers and names stay the words they are. Raises ValueError for what is no message."""
    tokens = list(_tokens(text))
    found, at = _message(tokens, 0, "", 0)
    if at < len(tokens):
        raise ValueError(f"{tokens[at]!r} closes nothing")
    return found


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text[at : at + 20]!r} is no part of a message")
        if match.lastgroup is not None:
            yield match[0]
        at = match.end()


def _message(tokens: list[str], at: int, closing: str, depth: int) -> tuple[Message, int]:
    if depth > _DEEPEST:
        raise ValueError("messages lie too deep in each other")
    found: Message = {}
    while at < len(tokens) and tokens[at] != closing:
        name = tokens[at]
        if name in (";", ","):
            at += 1
            continue
        if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
            raise ValueError(f"{name!r} is no name of a field")
        at += 1 + (_peek(tokens, at + 1) == ":")
        values, at = _values(tokens, at, depth)
        found.setdefault(name, []).extend(values)
    if closing and at >= len(tokens):
        raise ValueError(f"a {closing!r} is missing")
    return found, at + bool(closing)


def _values(tokens: list[str], at: int, depth: int) -> tuple[list[Any], int]:
    if _peek(tokens, at) != "[":
        value, at = _value(tokens, at, depth)
        return [value], at
    values: list[Any] = []
    at += 1
    while _peek(tokens, at) != "]":
        if tokens[at] == ",":
            at += 1
            continue
        value, at = _value(tokens, at, depth)
        values.append(value)
    return values, at + 1


def _value(tokens: list[str], at: int, depth: int) -> tuple[Any, int]:
    first = _peek(tokens, at)
    if first in _CLOSING:
        return _message(tokens, at + 1, _CLOSING[first], depth + 1)
    if first[0] not in "\"'":
        if len(first) == 1 and first in "}>[]:;,":
            raise ValueError(f"{first!r} stands in the place of a value")
        return first, at + 1
    said = ""
    while at < len(tokens) and tokens[at][0] in "\"'":  # texts side by side are one
        said += tokens[at][1:-1]
        at += 1
    return _unescaped(said), at


def _peek(tokens: list[str], at: int) -> str:
    if at >= len(tokens):
        raise ValueError("it ends in the middle of a field")
    return tokens[at]


def _unescaped(said: str) -> str:
    def plain(found: re.Match[bytes]) -> bytes:
        if found[1] or found[2]:
            return bytes([int(found[1] or found[2], 16 if found[1] else 8) & 0xFF])
        return _LETTERS.get(found[3], found[3])

    return _ESCAPE.sub(plain, said.encode("utf-8", "replace")).decode("utf-8", "replace")
