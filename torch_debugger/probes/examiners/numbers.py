"""Was something refused because it holds NaN or Inf?

A message selects the crash; tensors in the frames that really hold such numbers make the evidence.
"""

from __future__ import annotations

import re

import torch
from torch import isfinite

from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Operand
from torch_debugger.records.evidence.numbers import NumberEvidence
from torch_debugger.stats.operands import measure_operand

_TOLD = 3
_LARGEST = 10_000_000  # elements
_CONSTRAINT = re.compile(r"of distribution (\w+)")
_LINALG = re.compile(r"(?:torch\.)?(linalg[._]\w+)")


def examine_numbers(scene: Scene) -> NumberEvidence | None:
    taker = _taker(scene)
    if not taker:
        return None
    tensors, weights = _not_finite(scene), _bad_weights(scene)
    named = tuple(tensor for tensor in tensors if tensor.name) or tensors
    return NumberEvidence(taker, named, weights, bool(scene.running.models)) if named or weights else None


def _taker(scene: Scene) -> str:
    error, message = scene.error, str(scene.error)
    if isinstance(error, ValueError) and "to satisfy the constraint" in message:
        found = _CONSTRAINT.search(message)
        return found.group(1) if found else "a distribution"
    if isinstance(error, RuntimeError) and "probability tensor contains either" in message:
        return "torch.multinomial"
    if isinstance(error, RuntimeError) and type(error).__name__ == "_LinAlgError":
        found = _LINALG.search(message)
        return f"torch.{found.group(1).replace('_', '.', 1)}" if found else "torch.linalg"
    if isinstance(error, (ValueError, OverflowError)) and message.startswith("cannot convert float "):
        return "an integer"
    return ""


def _not_finite(scene: Scene) -> tuple[Operand, ...]:
    """From the innermost frame out to the user's, the user's names first."""
    found: dict[int, tuple[torch.Tensor, str]] = {}
    for seen in _from_the_user(scene):
        for name, value in seen.frame.f_locals.items():
            if is_tensor(value) and id(value) not in found and _is_bad(value):
                found[id(value)] = (value, name if seen.user else "")
    return tuple(measure_operand(tensor, name) for tensor, name in list(found.values())[:_TOLD])


def _from_the_user(scene: Scene) -> list[Seen]:
    last = next((place for place, seen in reversed(list(enumerate(scene.frames))) if seen.user), None)
    return [] if last is None else list(scene.frames[last:])


def _is_bad(tensor: torch.Tensor) -> bool:
    plain = tensor.device.type == "cpu" and tensor.layout is torch.strided and tensor.is_floating_point()
    return plain and 0 < tensor.numel() <= _LARGEST and not bool(isfinite(tensor.detach()).all())


def _bad_weights(scene: Scene) -> tuple[str, ...]:
    return tuple(
        f"{name}.{path}"
        for name, model in scene.running.models.items()
        for path, parameter in model.named_parameters()
        if not torch.nn.parameter.is_lazy(parameter) and _is_bad(parameter)
    )[:_TOLD]
