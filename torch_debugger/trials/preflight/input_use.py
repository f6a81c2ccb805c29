"""Does the output depend on the input?"""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.randomness import keep_randomness
from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import fit, other_way
from torch_debugger.trials.preflight.labels import moved_on
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "input is used"

_STEPS = 20  # a head that starts with zeros gives zeros for every input
_SAME = 1e-6  # of the outputs' size


def try_input_use(case: Case) -> TrialResult:
    count = case.require_samples(2)
    spread = _spread(case)
    trained = ""
    if spread <= _SAME:
        fit(case, other_way(case, 1e-3).optimizer, steps=_STEPS)
        spread, trained = _spread(case), f", also after {_STEPS} steps of training"
    if spread <= _SAME:
        return failed(
            NAME,
            f"The output is the same whichever of the {count} samples the model is given{trained}: moving the "
            f"inputs to other places of the batch changes it by {spread:.1g} of its size.",
            "Look in `forward` for a result that is computed and not used, a variable that is overwritten, or "
            "activations that are saturated or dead for every input.",
            spread=spread,
        )
    return passed(
        NAME,
        f"Given the inputs of another sample, the output changes by {100 * spread:.3g} % of its size.",
        spread=spread,
    )


def _spread(case: Case) -> float:
    """How much the outputs change, beside their size, when the inputs change places."""
    count = case.samples
    rows = [each for each in tensors_in(case.call) if _has_rows(each, count)]
    if all(bool((each == each[:1]).all()) for each in rows):
        raise NotPossibleError("All samples of this batch are equal, which says nothing about the model.")
    with torch.no_grad():
        restore = keep_randomness(case.modules())
        plain = _numbers(case.output(), count)
        restore()  # the same dropout for both
        moved = _numbers(case.output(moved_on(case)), count)
    if len(plain) != len(moved) or not plain:
        raise NotPossibleError("No output of the model has a row for each sample.")
    changes = [_share(one, other) for one, other in zip(plain, moved, strict=True) if one.shape == other.shape]
    return max(changes, default=0.0)


def _has_rows(tensor: torch.Tensor, count: int) -> bool:
    return bool(tensor.dim()) and tensor.shape[0] == count


def _numbers(output: Any, count: int) -> list[torch.Tensor]:
    found = [each.detach() for each in tensors_in(output)]
    return [each.double() for each in found if each.is_floating_point() and _has_rows(each, count)]


def _share(one: torch.Tensor, other: torch.Tensor) -> float:
    size = float(one.abs().max())
    return float((one - other).abs().max()) / size if size else float((other != 0).any())
