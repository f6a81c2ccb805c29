"""The model trained on inputs that are all zero: what it learns without looking."""

from __future__ import annotations

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError
from torch_debugger.trials.preflight.fitting import Fit, Tell, fit
from torch_debugger.trials.preflight.guessing import guess_for
from torch_debugger.trials.preflight.labels import require_labels_outside
from torch_debugger.trials.preflight.learned import Learned
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "zero-input baseline"

_BETTER = 0.9  # of what is reached without looking
_GUESSING = 1.2  # times the loss of guessing: nothing about the inputs is learned yet
_STEPS = 100


def try_zero_input(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    case.require_samples(2)  # one can be learned by heart without looking at it
    learned.require_calm()
    require_labels_outside(case)
    blank = _blank(case)
    if all(torch.equal(one, two) for one, two in zip(tensors_in(blank), tensors_in(case.call), strict=True)):
        raise NotPossibleError("The inputs of this batch are all zero.")
    steps = min(_STEPS, max(learned.steps, 20))
    seen, unseen = _fit(case, learned, None, steps, tell), _fit(case, learned, blank, steps, tell)
    if not seen.last < seen.first:
        raise NotPossibleError("The model does not learn from the true inputs, so there is nothing to compare.")
    numbers = {"seen": seen.last, "unseen": unseen.last, "steps": float(steps)}
    said = f"After {steps} steps the loss is {seen.last:.4g} with the inputs and {unseen.last:.4g} with zeros"
    guess = guess_for(case.loss())
    if seen.first - seen.last < 0.05 * abs(seen.first) or (guess and seen.last > _GUESSING * guess.loss):
        raise NotPossibleError(f"{said}: too little was learned to compare.")
    as_good = (
        unseen.first - unseen.last > _BETTER * (seen.first - seen.last) and seen.last > _BETTER * unseen.last
    )
    if as_good and guess is None:
        raise NotPossibleError(f"{said}; a loss of several terms can be low for inputs of zero as well.")
    if as_good:
        return failed(
            NAME, f"{said}: what is learned, is learned without looking at the inputs.", _ADVICE, **numbers
        )
    return passed(NAME, f"{said}.", **numbers)


def _is_input(tensor: torch.Tensor) -> bool:
    """Numbers, or rows of tokens; one whole number a sample may be its length."""
    return tensor.is_floating_point() or tensor.dim() > 1


def _blank(case: Case) -> Call:
    known = any(_is_input(each) for each in tensors_in(case.call))
    return case.changed(lambda each: torch.zeros_like(each) if _is_input(each) or not known else each)


def _fit(case: Case, learned: Learned, call: Call | None, steps: int, tell: Tell) -> Fit:
    with case.undone():
        return fit(case, learned.way(case).optimizer, call=call, steps=steps, tell=tell)


_ADVICE = (
    "Look whether the inputs reach the output: a variable that is overwritten in `forward`, inputs that are "
    "zeroed, scaled to nothing or the same for all samples, labels that do not belong to them."
)
