"""Settings that an optimizer's constructor refused: the name, the value, and what it must be."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import GeneratorType
from typing import Any

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.reading import calls_in
from torch_debugger.records.evidence.building import OptimizerRefusal

_NOT_NEGATIVE = (
    "lr",
    "eps",
    "weight_decay",
    "momentum",
    "alpha",
    "rho",
    "lr_decay",
    "initial_accumulator_value",
)


def wrong_setting(building: Seen, user: Seen, kind: str) -> OptimizerRefusal | None:
    """The first setting of the constructor's frame that no optimizer takes."""
    held = building.frame.f_locals
    for name, fault in _faults(held):
        written = next(
            (word.value for call in calls_in(user) for word in call.keywords if word.arg == name), None
        )
        text = ast.unparse(written) if written is not None else ""
        if fault in ("order", "two models"):
            text = next((ast.unparse(call) for call in calls_in(user) if len(call.args) >= 2), "")
        return OptimizerRefusal(kind, fault, text, _shown(held.get(name)), names=(name,))
    return None


def _faults(held: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in _NOT_NEGATIVE:
        value = held.get(name)
        if is_a(value, str):
            found.append((name, "text"))
        elif is_a(value, (int, float)) and value < 0:
            found.append((name, "negative"))
    if is_a(held.get("lr"), GeneratorType):
        found.append(("lr", "order" if is_a(held.get("params"), float) else "two models"))
    betas = held.get("betas", (0.9, 0.999))
    if not is_a(betas, (tuple, list)) or len(betas) != 2:
        found.append(("betas", "not two"))
    elif any(is_one_of(beta, (int, float)) and not 0.0 <= beta < 1.0 for beta in betas):
        found.append(("betas", "out of range"))
    if held.get("nesterov") and (not held.get("momentum") or held.get("dampening")):
        found.append(("nesterov", "nesterov"))
    return found


def _shown(value: Any) -> str:
    if is_one_of(value, (int, float, bool, str)) or (type(value) is tuple and len(value) < 5):
        return repr(value)[:80]
    return kind_name(type(value)).rpartition(".")[2]
