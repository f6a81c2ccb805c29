"""What the bytes of a logged picture or sound really are. Only what is known by its first bytes is served."""

from __future__ import annotations

import io
import warnings
from typing import Any

_PICTURES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_MOST_PIXELS = 100_000_000
_SOUNDS = ((b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"), (b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"))


def picture_facts(data: bytes) -> dict[str, Any]:
    """`kind`, `width` and `height`, or a `problem` in a sentence. Reads the head of the picture alone."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=tuple(_PICTURES)) as picture:
                kind, (width, height) = str(picture.format), picture.size
    except UnidentifiedImageError:
        return {
            "problem": f"{_size(data)} were logged here that are no PNG, JPEG, GIF or WebP. They are not shown."
        }
    except Exception as error:  # Pillow's are many; the bytes may be anything
        return {"problem": f"This picture is damaged and cannot be shown ({type(error).__name__})."}
    if width * height > _MOST_PIXELS:
        return {"problem": f"This picture of {width} x {height} pixels is too large for a page."}
    return {"kind": _PICTURES[kind], "width": width, "height": height}


def sound_facts(data: bytes) -> dict[str, Any]:
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return {"kind": "audio/wav"}
    known = next((kind for first, kind in _SOUNDS if data.startswith(first)), None)
    if known is None:
        return {
            "problem": f"{_size(data)} were logged here that are no WAV, FLAC, Ogg or MP3. They are not played."
        }
    return {"kind": known}


def _size(data: bytes) -> str:
    return f"{len(data):,} bytes"
