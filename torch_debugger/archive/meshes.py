"""Meshes and point clouds of `add_mesh`: which tags belong together, and their numbers at one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.parsing import Value
from torch_debugger.archive.tensors import read_numbers
from torch_debugger.runlog.wire import message

_NAME, _KIND = 2, 3  # of MeshPluginData
VERTICES, FACES, COLORS = "vertices", "faces", "colors"
_KINDS = {1: VERTICES, 2: FACES, 3: COLORS}
# For a tag whose first event, which alone says what it is, is not there; tensorboardX ends tags by the number.
_ENDINGS = {"VERTEX": VERTICES, "FACE": FACES, "COLOR": COLORS, "1": VERTICES, "2": FACES, "3": COLORS}


@dataclass
class MeshTags:
    """One mesh: the tag of each of its parts."""

    name: str
    tags: dict[str, str] = field(default_factory=dict)


def mesh_parts(step: int, time: float, value: Value) -> Iterator[NDArray[np.float64]]:
    """[batch, points, 3]"""
    numbers = read_numbers(value.body)
    if numbers.ndim not in (2, 3) or numbers.shape[-1] != 3:
        raise ValueError(f"a part of a mesh of shape {list(numbers.shape)}")
    yield numbers if numbers.ndim == 3 else numbers[None]


def part_of(tag: str, content: bytes) -> tuple[str, str]:
    """The mesh's name, and what of it this tag holds; empty where that cannot be told."""
    try:
        told = message(content)
        name, kind = told.get(_NAME, b"").decode("utf-8", "replace"), _KINDS.get(told.get(_KIND, 0), "")
    except (ValueError, TypeError, AttributeError):
        name = kind = ""
    around, _, ending = tag.rpartition("_")
    if not kind:
        name, kind = around, _ENDINGS.get(ending, "")
    return name or around, kind
