"""What an explainer found: the parts of a finding that do not depend on the check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch_debugger.records import CrashFact, CrashFrame, Edit, LayerFact, LocalTensor, Place


@dataclass(frozen=True, slots=True)
class Blame:
    message: str
    why: str
    fix: str
    where: Place
    evidence: dict[str, float | str]
    confidence: float
    edit: Edit | None = field(default=None)


def shape_text(shape: Sequence[int]) -> str:
    return f"[{', '.join(str(size) for size in shape)}]"


def product_text(sizes: Sequence[int]) -> str:
    """6 x 24 x 24"""
    return " x ".join(str(size) for size in sizes)


def place_text(place: Place) -> str:
    """net.py:14"""
    return f"{os.path.basename(place.file)}:{place.line}" if place.file else "an unknown line"


def line_text(place: Place) -> str:
    """net.py:14: self.fc1 = nn.Linear(100, 10)"""
    return f"{place_text(place)}: {place.code}" if place.code else place_text(place)


def layer_name(layer: LayerFact) -> str:
    return f"`{layer.path}`" if layer.path else f"the {layer.kind} layer"


def shape_evidence(layer: LayerFact, expected: float | str) -> dict[str, float | str]:
    """What came in, what was wanted, and the lines of the layer."""
    return layer_evidence(layer, input=shape_text(layer.inputs[0].shape), expected=expected)


def target_place(layer: LayerFact) -> Place:
    """The line to edit: the constructor where it is known, else the call."""
    return layer.place if layer.place.file else layer.call


def layer_evidence(layer: LayerFact, **numbers: float | str) -> dict[str, float | str]:
    evidence: dict[str, float | str] = dict(numbers)
    if layer.place.file:
        evidence["constructor"] = line_text(layer.place)
    if layer.call.file:
        evidence["call"] = line_text(layer.call)
    return evidence


def tensor_evidence(crash: CrashFact, *tensors: LocalTensor) -> dict[str, float | str]:
    shapes: dict[str, float | str] = {tensor.name: shape_text(tensor.shape) for tensor in tensors}
    return shapes | {"line": line_text(crash.place)}


def user_frame(crash: CrashFact) -> CrashFrame | None:
    """The innermost frame of the user's."""
    return next((frame for frame in reversed(crash.frames) if frame.user), None)


def ended_in_torch(crash: CrashFact) -> bool:
    """Whether nothing but torch lies between the user's line and the error."""
    for frame in reversed(crash.frames):
        if frame.user:
            return True
        if f"{os.sep}torch{os.sep}" not in frame.file:
            return False
    return False


def first_of(explanations: Iterable[Blame | None]) -> Blame | None:
    return next((blame for blame in explanations if blame is not None), None)
