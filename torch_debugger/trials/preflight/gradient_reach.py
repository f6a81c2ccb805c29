"""Does every parameter get a gradient?"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import fit, other_way, own_way
from torch_debugger.trials.preflight.outcomes import failed, passed
from torch_debugger.trials.preflight.passing_by import is_passed_by, runs_noted

NAME = "every parameter gets a gradient"

_STEPS = 10  # a layer that starts with zeros lets gradients through after a step
_SHOWN = 4


def try_gradients(case: Case) -> TrialResult:
    named = case.parameters()
    if not named:
        raise NotPossibleError("No parameter of the model learns.")
    with runs_noted(case) as ran:
        case.backward(case.loss())
    missing = [name for name, each in named.items() if each.grad is None]
    none = [name for name in missing if not is_passed_by(case, name, ran)]
    none = [name for name in none if not _is_offset(name, named, none)]
    zero = [name for name, each in named.items() if each.grad is not None and _is_zero(each.grad)]
    wrong = [name for name, each in named.items() if each.grad is not None and not _is_finite(each.grad)]
    if wrong:
        return failed(
            NAME,
            f"The gradient of {_listed(wrong)} is not finite.",
            "torch_debugger.find_nan(model, inputs) names the op whose backward makes it so.",
            not_finite=len(wrong),
        )
    zero = _still_zero(case, zero) if zero else zero
    zero = [name for name in zero if not _is_offset(name, named, zero)]
    if none or zero:
        return failed(NAME, _told(none, zero, len(named)), _advice(none), none=len(none), zero=len(zero))
    if missing:
        return passed(NAME, f"All get one but those of layers that this batch passes by: {_listed(missing)}.")
    return passed(NAME, f"All {len(named)} parameters get one that is not zero.")


def _still_zero(case: Case, zero: list[str]) -> list[str]:
    way = own_way(case) or other_way(case, 1e-3)
    fit(case, way.optimizer, steps=_STEPS)
    case.backward(case.loss())
    now = case.parameters()
    return [name for name in zero if now[name].grad is None or _is_zero(now[name].grad)]


def _is_offset(name: str, named: Mapping[str, torch.Tensor], zero: list[str]) -> bool:
    """A bias that cancels out (in a difference of outputs, before a softmax) while its layer learns."""
    layer = name.rpartition(".")[0]
    return named[name].dim() < 2 and any(
        other.rpartition(".")[0] == layer and other not in zero for other in named
    )


def _told(none: list[str], zero: list[str], total: int) -> str:
    parts = [f"{len(none)} of {total} parameters get no gradient: {_listed(none)}"] if none else []
    parts += [
        f"{len(zero)} of {total} get a gradient of zero, also after {_STEPS} steps: {_listed(zero)}"
    ] * bool(zero)
    return "; ".join(parts) + "."


def _advice(none: list[str]) -> str:
    if none:
        return (
            "Nothing of the loss depends on them. Look in `forward` for a layer that is not called, or a "
            "result that is not used or is cut off by detach(), .data, .item(), argmax or no_grad."
        )
    return "What they make is multiplied by zero further on: a dead ReLU, a mask, a weight of 0 in the loss."


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _is_zero(gradient: torch.Tensor | None) -> bool:
    return gradient is not None and not bool(_numbers(gradient).any())


def _is_finite(gradient: torch.Tensor) -> bool:
    return bool(_numbers(gradient).isfinite().all())


def _numbers(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.coalesce().values() if gradient.is_sparse else gradient
