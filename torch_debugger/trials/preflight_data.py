"""Does the output depend on the input?"""

from __future__ import annotations

import math
from typing import Any

import torch

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.reruns import keep_randomness
from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight_case import Call, Case, NotPossibleError, failed, passed
from torch_debugger.trials.preflight_loss import guess_for, sides_of
from torch_debugger.trials.preflight_training import Learned, Tell, fit, other_way

INPUT_USE_NAME = "input is used"

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
            INPUT_USE_NAME,
            f"The output is the same whichever of the {count} samples the model is given{trained}: moving the "
            f"inputs to other places of the batch changes it by {spread:.1g} of its size.",
            "Look in `forward` for a result that is computed and not used, a variable that is overwritten, or "
            "activations that are saturated or dead for every input.",
            spread=spread,
        )
    return passed(
        INPUT_USE_NAME,
        f"Given the inputs of another sample, the output changes by {100 * spread:.3g} % of its size.",
        spread=spread,
    )


def _spread(case: Case) -> float:
    """How much the outputs change, beside their size, when the inputs change places."""
    if all(bool((each == each[:1]).all()) for each in case.rows(case.call)):
        raise NotPossibleError("All samples of this batch are equal, which says nothing about the model.")
    with torch.no_grad():
        restore = keep_randomness(case.modules())
        plain = _output_rows(case, case.output())
        restore()  # the same dropout for both
        moved = _output_rows(case, case.output(moved_on(case)))
    if len(plain) != len(moved) or not plain:
        raise NotPossibleError("No output of the model has a row for each sample.")
    shares = []
    for one, other in zip(plain, moved, strict=True):
        if one.shape == other.shape:
            size = float(one.abs().max())
            shares.append(float((one - other).abs().max()) / size if size else float((other != 0).any()))
    return max(shares, default=0.0)


def _output_rows(case: Case, output: Any) -> list[torch.Tensor]:
    return [each.detach().double() for each in case.rows(output) if each.is_floating_point()]


# The model trained on inputs that are all zero: what it learns without looking.
ZERO_INPUT_NAME = "zero-input baseline"

_BETTER = 0.9  # of what is reached without looking
_GUESSING = 1.2  # times the loss of guessing: nothing about the inputs is learned yet
_ZERO_INPUT_STEPS = 100


def try_zero_input(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    case.require_samples(2)  # one can be learned by heart without looking at it
    learned.require_calm()
    require_labels_outside(case)
    known = any(_is_input(each) for each in tensors_in(case.call))
    blank = case.changed(lambda each: torch.zeros_like(each) if _is_input(each) or not known else each)
    if all(torch.equal(one, two) for one, two in zip(tensors_in(blank), tensors_in(case.call), strict=True)):
        raise NotPossibleError("The inputs of this batch are all zero.")
    steps = min(_ZERO_INPUT_STEPS, max(learned.steps, 20))
    seen, unseen = (learned.fit(case, call=call, steps=steps, tell=tell) for call in (None, blank))
    if not seen.last < seen.first:
        raise NotPossibleError("The model does not learn from the true inputs, so there is nothing to compare.")
    numbers = {"seen": seen.last, "unseen": unseen.last, "steps": float(steps)}
    said = f"After {steps} steps the loss is {seen.last:.4g} with the inputs and {unseen.last:.4g} with zeros"
    guess = guess_for(case.loss())
    if seen.first - seen.last < 0.05 * abs(seen.first) or (guess and seen.last > _GUESSING * guess.loss):
        raise NotPossibleError(f"{said}: too little was learned to compare.")
    as_good = unseen.first - unseen.last > _BETTER * (seen.first - seen.last) and seen.last > _BETTER * unseen.last
    if not as_good:
        return passed(ZERO_INPUT_NAME, f"{said}.", **numbers)
    if guess is None:
        raise NotPossibleError(f"{said}; a loss of several terms can be low for inputs of zero as well.")
    return failed(
        ZERO_INPUT_NAME,
        f"{said}: what is learned, is learned without looking at the inputs.",
        "Look whether the inputs reach the output: a variable that is overwritten in `forward`, inputs that are "
        "zeroed, scaled to nothing or the same for all samples, labels that do not belong to them.",
        **numbers,
    )


def _is_input(tensor: torch.Tensor) -> bool:
    """Numbers, or rows of tokens; one whole number a sample may be its length."""
    return tensor.is_floating_point() or tensor.dim() > 1


# The model trained with the labels of other samples: true ones should be easier to learn.
SHUFFLED_LABELS_NAME = "shuffled-label baseline"

_SHUFFLED_LABELS_STEPS = 60
_SHUFFLES = 3
_EASIER = 0.97  # of the mean loss with shuffled labels


def try_shuffled_labels(case: Case, learned: Learned, tell: Tell) -> TrialResult:
    count = case.require_samples(4)
    order = torch.Generator().manual_seed(0)
    learned.require_calm()
    if pairs_matter(case) is False:
        sides = sides_of(case.loss())
        assert sides is not None
        return failed(
            SHUFFLED_LABELS_NAME,
            f"The loss is the same whichever sample has which label: {count} are compared as {list(sides[1].shape)}.",
            "Give the output and the targets one shape before the loss, such as `output.squeeze(1)`: shapes of "
            "[n, 1] and [n] broadcast to [n, n], all with all.",
        )
    require_labels_outside(case)
    means = []
    for shuffle in range(1 + _SHUFFLES):
        call = _shuffled(case, order) if shuffle else None
        losses = learned.fit(case, call=call, steps=_SHUFFLED_LABELS_STEPS, tell=tell).losses
        if not all(map(math.isfinite, losses)):
            raise NotPossibleError("The loss does not stay finite in training.")
        means.append(sum(losses) / len(losses))
    true, *others = means
    said = (
        f"Over {_SHUFFLED_LABELS_STEPS} steps the loss is {true:.4g} on average with the true labels and "
        f"{min(others):.4g} to {max(others):.4g} with shuffled ones"
    )
    if true < _EASIER * min(others):
        return passed(SHUFFLED_LABELS_NAME, f"{said}.", true=true, shuffled=min(others))
    sides = sides_of(case.loss())
    if related(case, sides[1] if sides is not None else None) is not False:
        raise NotPossibleError(f"{said}: by a batch of {count} they cannot be told apart.")
    return failed(
        SHUFFLED_LABELS_NAME,
        f"{said}: the labels are no easier to learn than random ones, and neighbours have no more in common.",
        "Look at some pairs: do labels belong to their inputs? Sorting or shuffling one and not the other is "
        "the usual reason.",
        true=true,
        shuffled=min(others),
    )


def _shuffled(case: Case, order: torch.Generator) -> Call:
    """The inputs in another order: each meets the label of another sample."""
    places = torch.randperm(case.samples, generator=order)
    return case.reordered(lambda each: each[places])


# Do the targets have to do with the inputs at all, as far as neighbours and a straight line can tell?
_RELATION_SHUFFLES = 40
_BEYOND_CHANCE = 1.5  # deviations above what shuffled targets give
_ROWS_PER_NUMBER = 8
_FEWEST = 64


def related(case: Case, targets: torch.Tensor | None) -> bool | None:
    """None where there are too few samples for the numbers of each, or no numbers, to tell."""
    count, rows = case.samples, case.rows(case.call)
    if targets is None or targets.numel() != count or not all(each.is_floating_point() for each in rows):
        return None
    inputs = torch.cat([each.detach().reshape(count, -1).double() for each in rows], 1).cpu()
    if count < max(_FEWEST, _ROWS_PER_NUMBER * inputs.shape[1]):
        return None
    spread = inputs.std(0)
    inputs = (inputs - inputs.mean(0))[:, spread > 0] / spread[spread > 0]
    answers = targets.detach().reshape(-1).cpu()
    if not answers.is_floating_point() or len(torch.unique(answers)) <= 2:  # classes: a column of each
        answers = torch.nn.functional.one_hot(torch.unique(answers, return_inverse=True)[1])
    answers = answers.double().reshape(count, -1)
    answers = answers - answers.mean(0)
    near = torch.cdist(inputs, inputs).fill_diagonal_(float("inf")).argmin(1)
    return _beyond_chance(answers, answers[near]) or _beyond_chance(answers, _fitted(inputs, answers))


def _fitted(inputs: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """What least squares makes of one half of the samples for the other, and the other way round."""
    half = len(inputs) // 2
    known = torch.cat([inputs, inputs**2 - 1], 1)
    first = known[half:] @ torch.linalg.lstsq(known[:half], answers[:half]).solution
    second = known[:half] @ torch.linalg.lstsq(known[half:], answers[half:]).solution
    return torch.cat([second, first])


def _beyond_chance(answers: torch.Tensor, guesses: torch.Tensor) -> bool:
    order = torch.Generator().manual_seed(0)
    orders = (torch.randperm(len(answers), generator=order) for _ in range(_RELATION_SHUFFLES))
    chance = torch.tensor([float((answers[each] * guesses).sum()) for each in orders])
    return float((answers * guesses).sum()) > float(chance.mean() + _BEYOND_CHANCE * chance.std())


def moved_on(case: Case) -> Call:
    """Each input in the place of the next: none stays where it was."""
    return case.reordered(lambda each: each.roll(1, 0))


def require_labels_outside(case: Case) -> None:
    """Inputs in other places give another loss, unless their labels move with them."""
    if pairs_matter(case) is not True:
        raise NotPossibleError(
            "The labels go into the model with the inputs, or the loss does not depend on whose label is whose."
        )


def pairs_matter(case: Case) -> bool | None:
    """Whether the loss depends on which sample has which label; None where that cannot be told."""
    with case.undone(), case.evaluating():
        plain, other = case.loss(), case.loss(moved_on(case))
    if not math.isclose(plain.item(), other.item(), rel_tol=1e-6):
        return True
    sides, moved = sides_of(plain), sides_of(other)
    if sides is None or moved is None or not torch.equal(sides[1], moved[1]):
        return None  # the labels have moved with the inputs
    if bool((sides[1] == sides[1].reshape(-1)[0]).all()):
        return None  # all labels are the same
    if torch.equal(sides[0], moved[0]):
        return True  # a model that does not look at its inputs has not moved either
    return False if sides[1].shape == (case.samples, case.samples) else None
