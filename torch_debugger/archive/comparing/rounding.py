"""What another order of the same sums makes at once, by the kind of numbers and the machines."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.records import LossGraph, ModelFact

# As a share of a tensor's largest number. Of half precision one unit in the last place, which its statistics
# over many elements hardly reach; of float32, which is also what the log keeps, some units.
_SINGLE = 16 * 2.0**-23
_HALVES = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
_OTHER_DEVICE = 2.0**-9  # convolutions on an accelerator round what they multiply to ten bits (TF32)


def rounding_floor(first: RunEvidence, second: RunEvidence) -> float:
    kinds = _kinds(first) | _kinds(second)
    floors = [_SINGLE, *(_HALVES[kind] for kind in kinds if kind in _HALVES)]
    return max([*floors, _OTHER_DEVICE] if _machines(first) != _machines(second) else floors)


def initial_floor(first: RunEvidence, second: RunEvidence) -> float:
    """Weights of one kind are not rounded before they are first used."""
    return _SINGLE if _parameters(first) == _parameters(second) else rounding_floor(first, second)


def _parameters(run: RunEvidence) -> set[str]:
    return {each.dtype for fact in run.facts(ModelFact) for each in fact.parameters}


def _kinds(run: RunEvidence) -> set[str]:
    """Of the parameters, of layers where it was noted, and of what the loss was computed from (autocast)."""
    layers = {dtype for found in run.rows.values() for rows in found for dtype in rows.table.dtypes}
    computed = {each.dtype for graph in run.facts(LossGraph) for each in graph.locals if each.requires_grad}
    return _parameters(run) | layers | computed


def _machines(run: RunEvidence) -> tuple[str, ...]:
    device = run.run.device if run.run else ""
    hardware = run.surroundings.hardware if run.surroundings and device != "cpu" else {}
    return device, *(name for part, name in hardware.items() if part.startswith("gpu"))
