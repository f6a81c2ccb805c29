"""What samples are made of, and where those of one batch differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.records.evidence.loading import OddPart

_PARTS, _DEPTH = 32, 4
_NUMBERS = ("int", "float", "bool", "numpy scalar")
_CONTAINERS = ("tuple", "list", "dict")
_BATCHED = ("number", *_CONTAINERS, "tensor", "ndarray", "str", "bytes")


@dataclass(frozen=True)
class Form:
    """The kind of a value and, of containers, the forms of its parts."""

    kind: str
    detail: str = ""  # float32 [3, 8]
    parts: tuple[tuple[str, Form], ...] = ()  # by how they are reached: [0], ['image']
    own_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.own_bytes + sum(part.size_bytes for _, part in self.parts)

    @property
    def words(self) -> str:
        if self.kind in ("tuple", "list"):
            inside = ", ".join(part.words for _, part in self.parts[:4])
            return f"{self.kind} of {self.detail}" + (f" ({inside})" if len(self.parts) <= 4 else "")
        if self.kind == "dict":
            return f"dict with {', '.join(key[1:-1] for key, _ in self.parts[:4])}"
        return " ".join(filter(None, (self.kind, self.detail)))


def form_of(value: Any, depth: int = 0) -> Form:
    """Of values of the user's classes only the name: they are not asked anything."""
    if value is None:
        return Form("None")
    if is_a(value, torch.Tensor):
        return Form(
            "tensor", f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}", (), value.nbytes
        )
    if is_a(value, numpy.ndarray):
        kind = "ndarray" if value.dtype.kind not in "USO" else f"ndarray of {value.dtype}"
        return Form(kind, f"{value.dtype} {list(value.shape)}" if kind == "ndarray" else "", (), value.nbytes)
    if is_a(value, numpy.generic) and not is_a(value, (str, bytes)):
        return Form("numpy scalar", str(value.dtype))
    if is_a(value, Mapping) and type(value) is dict:
        return Form(
            "dict", str(len(value)), _parts(((f"[{key!r}]", item) for key, item in value.items()), depth)
        )
    if is_a(value, tuple) or is_a(value, list):
        # also of a class of the user's, without asking it
        held: list[Any] = list(list.__iter__(value) if is_a(value, list) else tuple.__iter__(value))
        numbered = ((f"[{place}]", item) for place, item in enumerate(held[:_PARTS]))
        return Form("list" if is_a(value, list) else "tuple", str(len(held)), _parts(numbered, depth))
    return Form(kind_name(type(value)))


def _parts(items: Any, depth: int) -> tuple[tuple[str, Form], ...]:
    if depth >= _DEPTH:
        return ()
    return tuple((key, form_of(item, depth + 1)) for (key, item), _ in zip(items, range(_PARTS), strict=False))


def odd_part(samples: Sequence[tuple[int, Form]], path: str = "") -> OddPart | None:
    """The first part that no batch can be made of, or that differs from what the other samples have."""
    kinds = Counter(_class(form) for _, form in samples)
    for kind in kinds:
        if kind not in _BATCHED:
            return _odd(samples, path, kind)
    if len(kinds) > 1:
        return _odd(samples, path, min(kinds, key=lambda kind: kinds[kind]))
    return _odd_inside(samples, path, next(iter(kinds), ""))


def _odd_inside(samples: Sequence[tuple[int, Form]], path: str, kind: str) -> OddPart | None:
    if kind in ("tensor", "ndarray") and len({form.detail for _, form in samples}) > 1:
        return _odd_size(samples, path)
    if kind not in _CONTAINERS:
        return None
    shapes = Counter(_names(form) for _, form in samples)
    if len(shapes) > 1:
        rare = min(shapes, key=lambda names: shapes[names])
        return _differing(samples, path, rare, max(shapes, key=lambda names: shapes[names]))
    for place, (key, _) in enumerate(samples[0][1].parts):
        inside = [(index, form.parts[place][1]) for index, form in samples]
        if (odd := odd_part(inside, path + key)) is not None:
            return odd
    return None


def _odd_size(samples: Sequence[tuple[int, Form]], path: str) -> OddPart:
    usual = Counter(form.words for _, form in samples).most_common(1)[0][0]
    those = [(index, form) for index, form in samples if form.words != usual]
    return OddPart(path, those[0][1].words, usual, tuple(index for index, _ in those)[:_PARTS], len(samples))


def _class(form: Form) -> str:
    return "number" if form.kind in _NUMBERS else form.kind


def _names(form: Form) -> tuple[str, ...]:
    return (form.detail, *(key for key, _ in form.parts)) if form.kind == "dict" else (form.detail,)


def _odd(samples: Sequence[tuple[int, Form]], path: str, kind: str) -> OddPart:
    those = [(index, form) for index, form in samples if _class(form) == kind]
    others = [form.words for _, form in samples if _class(form) != kind]
    usual = Counter(others).most_common(1)[0][0] if others else ""
    return OddPart(path, those[0][1].words, usual, tuple(index for index, _ in those)[:_PARTS], len(samples))


def _differing(
    samples: Sequence[tuple[int, Form]], path: str, rare: tuple[str, ...], common: tuple[str, ...]
) -> OddPart:
    those = [(index, form) for index, form in samples if _names(form) == rare]
    usual = next(form for _, form in samples if _names(form) == common)
    indices = tuple(index for index, _ in those)[:_PARTS]
    return OddPart(path, _shape(those[0][1]), _shape(usual), indices, len(samples))


def _shape(form: Form) -> str:
    return form.words if form.kind == "dict" else f"{form.kind} of {form.detail}"
