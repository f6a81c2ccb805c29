"""What a file is, by its size and its first and last bytes: nothing is ever unpickled to find out."""

from __future__ import annotations

import os
import re
import struct

_HEAD, _TAIL = 256, 512
_STARTS = {
    b"\x93NUMPY": "numpy",
    b"\x89HDF\r\n": "hdf5",
    b"\x1f\x8b": "gzip",
    b"version https://git-lfs": "lfs-pointer",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x89PNG": "image",
    b"\xff\xd8\xff": "image",
    b"%PDF": "pdf",
    b"GGUF": "gguf",
}
_END_OF_ZIP = b"PK\x05\x06"
# How torch.save began before its files were zip archives: a pickled magic number of ten bytes.
_OLD_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."


def ends_of(path: str) -> tuple[bytes, bytes, int]:
    """The first bytes, the last bytes, and the size."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD)
        file.seek(max(0, size - _TAIL))
        return head, file.read(_TAIL), size


def form_of(head: bytes, tail: bytes, size: int) -> str:
    """empty, zip, cut-zip, old-torch, pickle, safetensors, html, lfs-pointer, json, text, ...; or unknown"""
    if not size:
        return "empty"
    for start, form in _STARTS.items():
        if head.startswith(start):
            return form
    if head.startswith(b"PK"):
        return "zip" if _END_OF_ZIP in tail else "cut-zip"
    if not head.strip(b"\0"):
        return "zeros"
    if _OLD_TORCH.startswith(head[: len(_OLD_TORCH)]):
        return "old-torch"
    if head[0] == 0x80 and len(head) > 1 and head[1] in (2, 3, 4, 5):
        return "pickle"
    return _safetensors(head, size) or _text(head)


def _safetensors(head: bytes, size: int) -> str:
    length = struct.unpack("<Q", head[:8])[0] if len(head) > 8 else 0
    if head[8:9] != b"{" or not 0 < length < 100_000_000:
        return ""
    return "safetensors" if length + 8 <= size else "cut-safetensors"


def _text(head: bytes) -> str:
    if re.match(rb"\s*<(?:!doctype|html|\?xml)", head, re.IGNORECASE):
        return "html"
    try:
        text = head.decode("utf-8", errors="strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError:
        return "unknown"
    if not all(character.isprintable() or character.isspace() for character in text):
        return "unknown"
    return "json" if text.lstrip().startswith(("{", "[")) else "text"


def first_words(head: bytes) -> str:
    """The start of a text, on one line."""
    return " ".join(head.decode("utf-8", errors="replace").split())[:60]
