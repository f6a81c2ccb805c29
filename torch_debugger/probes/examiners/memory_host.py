"""An allocation that the host refused: how many bytes, and the sizes that were asked for."""

from __future__ import annotations

import math
import re

from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.operands import running_expression
from torch_debugger.probes.examiners.scene import Scene

_TORCH_FORM = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate|not enough) memory: you tried to allocate (\d+) bytes"
)
_NUMPY_FORM = re.compile(
    r"Unable to allocate [\d.]+ \w+ for an array with shape \(([\d, ]+)\) and data type (\S+)"
)
_OVERFLOW_FORM = re.compile(r"Storage size calculation overflowed with sizes=\[([\d, ]+)\]")
_WIDTHS = {"float64": 8, "int64": 8, "uint64": 8, "complex128": 16, "float32": 4, "int32": 4, "uint32": 4,
           "float16": 2, "int16": 2, "complex64": 8}  # fmt: skip


def asked_of_host(error: BaseException, text: str) -> int | None:
    """The bytes that were asked for; None for any other exception."""
    if isinstance(error, RuntimeError) and (told := _TORCH_FORM.search(text)):
        return int(told[1])
    if isinstance(error, MemoryError) and (told := _NUMPY_FORM.search(text)):
        return math.prod(_numbers(told[1])) * _WIDTHS.get(told[2], 1)
    if isinstance(error, RuntimeError) and (told := _OVERFLOW_FORM.search(text)):
        return math.prod(_numbers(told[1])) * 4
    return None


def sizes_asked(scene: Scene, text: str, asked: int) -> tuple[tuple[int, ...], str]:
    """The sizes of the tensor that was to be made, from the message or from a layer's constructor."""
    told = _NUMPY_FORM.search(text) or _OVERFLOW_FORM.search(text)
    seen = scene.user_frame
    call = running_expression(seen) if seen is not None else ""
    if told is not None:
        return _numbers(told[1]), call
    for frame in scene.frames:
        if frame.function == "__init__" and frame.frame.f_code.co_filename.find("torch") >= 0:
            return _of_constructor(frame, asked), call
    return (), call


def _of_constructor(seen: Seen, asked: int) -> tuple[int, ...]:
    """(out_features, in_features) of a Linear, (rows, width) of an Embedding."""
    held = seen.frame.f_locals
    pairs = (("out_features", "in_features"), ("num_embeddings", "embedding_dim"))
    for names in pairs:
        sizes = tuple(held[name] for name in names if type(held.get(name)) is int)
        if len(sizes) == 2 and math.prod(sizes) in (asked, asked // 2, asked // 4, asked // 8):
            return sizes
    return ()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())
