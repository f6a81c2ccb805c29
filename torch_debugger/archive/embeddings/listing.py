"""Which embeddings lie in a run's folder, as its projector_config.pbtxt has them.

Paths in that file are data: only what lies inside the run's folder is ever opened.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import Any

from torch_debugger.archive.embeddings.text_format import parse
from torch_debugger.errors import DebuggerError

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
        told = parse(text)
    except ValueError as error:
        raise DebuggerError(f"{CONFIG} cannot be read: {error}.") from error
    found = [_embedding(each) for each in told.get("embeddings", []) if isinstance(each, dict)]
    return list({(each.tag, each.step): each for each in found}.values())


def _embedding(told: dict[str, list[Any]]) -> Embedding:
    name = _text(told, "tensor_name") or "embedding"
    named = _NAME_AND_STEP.fullmatch(name)
    tag, step = (named[1], int(named[2])) if named else (name, 0)
    sprite = next((each for each in told.get("sprite", []) if isinstance(each, dict)), {})
    sizes = _numbers(sprite, "single_image_dim")
    thumbnail = (sizes[0], sizes[1]) if len(sizes) > 1 else (0, 0)
    paths = (_text(told, "tensor_path"), _text(told, "metadata_path"), _text(sprite, "image_path"))
    return Embedding(tag, step, *paths, thumbnail, tuple(_numbers(told, "tensor_shape")))


def _text(told: dict[str, list[Any]], name: str) -> str:
    return next((each for each in reversed(told.get(name, [])) if isinstance(each, str)), "")


def _numbers(told: dict[str, list[Any]], name: str) -> list[int]:
    said = [each for each in told.get(name, []) if isinstance(each, str)]
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
            raise DebuggerError(
                f"{path!r} has {size / 1e6:,.0f} MB; up to {most_bytes / 1e6:,.0f} MB are read."
            )
        with open(real, "rb") as file:
            return file.read(most_bytes + 1)
    except OSError as error:
        raise DebuggerError(f"{path!r} cannot be read ({error.strerror or error}).") from error


def stamp(folder: str, path: str) -> tuple[int, int]:
    """Differs once the file was written anew."""
    state = os.stat(inside(folder, path))
    return state.st_size, state.st_mtime_ns
