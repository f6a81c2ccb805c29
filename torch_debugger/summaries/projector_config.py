"""The file that tells TensorBoard's projector which points there are, in protobuf's text form."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"^embeddings \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Embedding:
    """Paths are relative to the file of this entry."""

    name: str  # default:00000
    points: str
    shape: tuple[int, int]
    labels: str = ""
    sprite: str = ""
    thumbnail: tuple[int, int] = (0, 0)  # width and height of one picture in the sprite


def config_with(text: str, embedding: Embedding) -> str:
    """The text with one more entry; an older one of the same name gives way."""
    name = f"  tensor_name: {_quoted(embedding.name)}\n"
    others = [entry for entry in _ENTRY.findall(text) if name not in entry]
    return "".join([*others, _entry(embedding)])


def _entry(embedding: Embedding) -> str:
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
    data = text.encode("utf-8", "replace")
    return '"' + "".join(_character(byte) for byte in data) + '"'


def _character(byte: int) -> str:
    if chr(byte) in '"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
