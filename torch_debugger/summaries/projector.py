"""Points for TensorBoard's projector: their coordinates, labels and thumbnails, in files beside the log."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import fsspec
import numpy
import torch
from PIL import Image

from torch_debugger.summaries.arguments import as_tensor
from torch_debugger.system.errors import DebuggerError

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
    as_text = is_text_better(matrix)
    name = TEXT if as_text else NUMBERS
    with files.open(name) as file:
        replaced = write_points(file, matrix, as_text)
    if replaced:
        remarks.append(
            f"holds NaN or infinite numbers ({replaced:,} of {matrix.numel():,}): "
            "they were written as 0, since the projector cannot show them."
        )
    entry = ProjectorEntry(f"{tag}:{step:05d}", files.path(name), (len(matrix), matrix.shape[1]))
    if labels is not None:
        lines = label_lines(_fitted(labels, len(matrix), remarks), header)
        entry = replace(entry, labels=files.write_lines("metadata.tsv", lines))
    if pictures is not None:
        images = torch.as_tensor(pictures)
        if images.dim() != 4 or len(images) != len(matrix):
            remarks.append(
                f"should have pictures of shape [{len(matrix)}, channels, height, width], "
                f"but got {list(images.shape)}: they were left out."
            )
        else:
            png, thumbnail = sprite_png(images)
            with files.open("sprite.png") as file:
                file.write(png)
            entry = replace(entry, sprite=files.path("sprite.png"), thumbnail=thumbnail)
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

    def enter(self, entry: ProjectorEntry) -> None:
        """One more entry; an older one of the same name gives way."""
        config = f"{self._root}/{CONFIG}"
        before = self._store.cat_file(config).decode("utf-8", "replace") if self._store.exists(config) else ""
        name = f"  tensor_name: {_quoted(entry.name)}\n"
        others = [each for each in _ENTRY.findall(before) if name not in each]
        self._store.pipe_file(config, "".join([*others, _entry(entry)]).encode())


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


# The file that tells TensorBoard's projector which points there are, in protobuf's text form.
_ENTRY = re.compile(r"^embeddings \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class ProjectorEntry:
    """Paths are relative to the file of this entry."""

    name: str  # default:00000
    points: str
    shape: tuple[int, int]
    labels: str = ""
    sprite: str = ""
    thumbnail: tuple[int, int] = (0, 0)  # width and height of one picture in the sprite


def _entry(embedding: ProjectorEntry) -> str:
    lines = [f"tensor_name: {_quoted(embedding.name)}"]
    lines += [f"tensor_shape: {size}" for size in embedding.shape]
    lines += [f"tensor_path: {_quoted(embedding.points)}"]
    lines += [f"metadata_path: {_quoted(embedding.labels)}"] if embedding.labels else []
    if embedding.sprite:
        sizes = [f"  single_image_dim: {size}" for size in embedding.thumbnail]
        lines += ["sprite {", f"  image_path: {_quoted(embedding.sprite)}", *sizes, "}"]
    return "\n".join(["embeddings {", *(f"  {line}" for line in lines), "}", ""])


def _quoted(text: str) -> str:
    """Bytes outside of plain ASCII as octal numbers, as protobuf writes them too."""
    letters = []
    for byte in text.encode("utf-8", "replace"):
        letter = chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
        letters.append(f"\\{letter}" if letter in '"\\' else letter)
    return f'"{"".join(letters)}"'


# Labels of points as the lines of a table that TensorBoard's projector reads.
_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def label_lines(labels: Iterable[Any], header: Sequence[str] | None) -> Iterator[str]:
    """A header needs two columns: of one alone, TensorBoard would take it for the first point's label."""
    if not header:
        yield from (_cell(label) for label in labels)
        return
    columns = len(header)
    if columns > 1:
        yield "\t".join(_cell(name) for name in header)
    for label in labels:
        row = [label] if isinstance(label, str) or not isinstance(label, Iterable) else list(label)
        yield "\t".join(_cell(value) for value in (row + [""] * columns)[:columns])


def _cell(value: Any) -> str:
    """On one line, and never empty: the projector skips empty lines, and all labels behind would be shifted."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a number, not tensor(3)
    text = _BREAKS.sub(" ", str(value))
    return text if text.strip() else "(empty)"


# Coordinates of points as TensorBoard's projector reads them: a table as text, or plain float32 numbers.
TEXT, NUMBERS = "tensors.tsv", "tensors.bytes"
_MOST_TEXT = 100_000  # numbers; reading a table of many takes TensorBoard minutes
_AT_ONCE = 4_000_000  # numbers held in memory


def write_points(file: BinaryIO, matrix: torch.Tensor, as_text: bool) -> int:
    """How many numbers were not finite: they are written as 0, since the projector shows nothing of a NaN."""
    row = "\t".join(["%.9g"] * matrix.shape[1]) + "\n"
    replaced = 0
    for values in _chunks(matrix):
        finite = numpy.isfinite(values)
        replaced += values.size - int(finite.sum())
        values = numpy.where(finite, values, numpy.float32(0))
        file.write("".join(row % tuple(each) for each in values.tolist()).encode() if as_text else values.tobytes())
    return replaced


def is_text_better(matrix: torch.Tensor) -> bool:
    """TensorBoard takes a file for a table unless its first line is no text: zeros, for one, would be."""
    if matrix.numel() <= _MOST_TEXT:
        return True
    first_line = next(_chunks(matrix)).tobytes().partition(b"\n")[0]
    try:
        first_line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _chunks(matrix: torch.Tensor) -> Iterator[Any]:
    rows = max(1, _AT_ONCE // matrix.shape[1])
    for chunk in torch.split(matrix, rows):
        yield chunk.to("cpu", torch.float32).numpy().astype("<f4", copy=False)


# Thumbnails of all points in one picture, row by row, as TensorBoard's projector cuts them out.
_LARGEST = 8192  # pixels a side; browsers load no larger textures


def sprite_png(pictures: torch.Tensor) -> tuple[bytes, tuple[int, int]]:
    """From [N, C, H, W]: bytes, or numbers from 0 to 1. Also the width and height of one thumbnail."""
    columns = math.ceil(math.sqrt(len(pictures)))
    most = max(1, _LARGEST // columns)
    height, width = (min(size, most) for size in pictures.shape[-2:])
    sheet = numpy.zeros((columns * height, columns * width, 3), numpy.uint8)
    for row, chunk in enumerate(torch.split(pictures, columns)):
        strip = _pixels(chunk, height, width)  # [N, H, W, 3]
        joined = strip.transpose(1, 0, 2, 3).reshape(height, -1, 3)
        sheet[row * height : (row + 1) * height, : joined.shape[1]] = joined
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG", compress_level=1)
    return file.getvalue(), (width, height)


def _pixels(pictures: torch.Tensor, height: int, width: int) -> Any:
    values = pictures.detach().to("cpu", torch.float32)
    scaled = values if pictures.dtype == torch.uint8 else values * 255
    colours = scaled[:, :3] if pictures.shape[1] >= 3 else scaled[:, :1].expand(-1, 3, -1, -1)
    if colours.shape[-2:] != (height, width):
        colours = torch.nn.functional.interpolate(colours, (height, width), mode="bilinear", antialias=True)
    return colours.nan_to_num(0).clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).numpy()
