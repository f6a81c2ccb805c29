"""Points for TensorBoard's projector: their coordinates, labels and thumbnails, in files beside the log."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import fsspec
import torch

from torch_debugger.errors import DebuggerError
from torch_debugger.summaries.arrays import as_tensor
from torch_debugger.summaries.projector_config import Embedding, config_with
from torch_debugger.summaries.projector_labels import label_lines
from torch_debugger.summaries.projector_points import NUMBERS, TEXT, is_text_better, write_points
from torch_debugger.summaries.projector_sprite import sprite_png

CONFIG = "projector_config.pbtxt"
_LONGEST_NAME = 120
_LINES_AT_ONCE = 10_000


def write_projector(
    folder: str,
    tag: str,
    step: int,
    points: Any,
    labels: Sequence[Any] | None = None,
    pictures: Any = None,
    header: Sequence[str] | None = None,
) -> list[str]:
    """`points` is [N, D], `pictures` [N, C, H, W]; the files lie where torch's `add_embedding` puts them.

    The folder may be on an object store. What does not fit is mended or left out: the sentences that come
    back say so. Raises DebuggerError where there is nothing to write.
    """
    matrix, remarks = _matrix(points)
    files = _Files(folder, f"{step:05d}/{folder_name(tag)}")
    entry = Embedding(f"{tag}:{step:05d}", *_write_matrix(files, matrix, remarks))
    if labels is not None:
        lines = label_lines(_fitted(labels, len(matrix), remarks), header)
        entry = replace(entry, labels=files.write_lines("metadata.tsv", lines))
    if pictures is not None:
        entry = _with_sprite(entry, files, torch.as_tensor(pictures), remarks)
    files.enter(entry)
    return [f"the embedding `{tag}` {remark}" for remark in remarks]


def _matrix(points: Any) -> tuple[torch.Tensor, list[str]]:
    matrix = as_tensor(points)
    if matrix.numel() == 0:
        raise DebuggerError(f"an embedding needs points, but its shape is {list(matrix.shape)}")
    if matrix.dim() == 2:
        return matrix, []
    reshaped = matrix.reshape(len(matrix) if matrix.dim() else 1, -1)
    return reshaped, [
        f"should be [points, dimensions], but is {list(matrix.shape)}: written as {list(reshaped.shape)}."
    ]


class _Files:
    """The folder of one embedding inside that of a run."""

    def __init__(self, folder: str, place: str) -> None:
        self._store, self._root = fsspec.core.url_to_fs(str(folder))
        self._place = place
        self._store.makedirs(f"{self._root}/{place}", exist_ok=True)

    def open(self, name: str) -> Any:
        return self._store.open(f"{self._root}/{self._place}/{name}", "wb")

    def path(self, name: str) -> str:
        return f"{self._place}/{name}"

    def write_lines(self, name: str, lines: Iterable[str]) -> str:
        waiting = iter(lines)
        with self.open(name) as file:
            while some := list(itertools.islice(waiting, _LINES_AT_ONCE)):
                file.write(("\n".join(some) + "\n").encode("utf-8", "replace"))
        return self.path(name)

    def enter(self, entry: Embedding) -> None:
        config = f"{self._root}/{CONFIG}"
        before = self._store.cat_file(config).decode("utf-8", "replace") if self._store.exists(config) else ""
        self._store.pipe_file(config, config_with(before, entry).encode())


def _write_matrix(files: _Files, matrix: torch.Tensor, remarks: list[str]) -> tuple[str, tuple[int, int]]:
    as_text = is_text_better(matrix)
    name = TEXT if as_text else NUMBERS
    with files.open(name) as file:
        replaced = write_points(file, matrix, as_text)
    if replaced:
        remarks.append(
            f"holds NaN or infinite numbers ({replaced:,} of {matrix.numel():,}): "
            "they were written as 0, since the projector cannot show them."
        )
    return files.path(name), (len(matrix), matrix.shape[1])


def _with_sprite(entry: Embedding, files: _Files, pictures: torch.Tensor, remarks: list[str]) -> Embedding:
    if pictures.dim() != 4 or len(pictures) != entry.shape[0]:
        remarks.append(
            f"should have pictures of shape [{entry.shape[0]}, channels, height, width], "
            f"but got {list(pictures.shape)}: they were left out."
        )
        return entry
    png, thumbnail = sprite_png(pictures)
    with files.open("sprite.png") as file:
        file.write(png)
    return replace(entry, sprite=files.path("sprite.png"), thumbnail=thumbnail)


def _fitted(labels: Sequence[Any], count: int, remarks: list[str]) -> Iterable[Any]:
    if len(labels) == count:
        return labels
    what = "the last labels were left out" if len(labels) > count else "the last points have empty ones"
    remarks.append(f"has {count:,} points, but the number of labels is {len(labels):,}: {what}.")
    return itertools.islice(itertools.chain(labels, itertools.repeat("")), count)


def folder_name(tag: str) -> str:
    """As torch makes it from ordinary tags; one that is too long for a file system ends in a hash."""
    name = re.sub(r"[%/\\\x00-\x1f:]", lambda found: f"%{ord(found[0]):02x}", tag) or "%"
    name = f"%2e{name[1:]}" if name.startswith(".") else name
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    kept = name.encode()[: _LONGEST_NAME - 17].decode("utf-8", "ignore")
    return f"{kept}-{hashlib.sha256(tag.encode('utf-8', 'replace')).hexdigest()[:16]}"
