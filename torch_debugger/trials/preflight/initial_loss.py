"""The first loss beside that of guessing: an untrained model should do about as well."""

from __future__ import annotations

import math

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.guessing import Guess, guess_for
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "initial loss"

# Scores that know nothing and are spread by s cost half of s squared more than a guess. As torch starts its
# layers, s is about 0.6 for inputs of deviation 1 and the loss 0.2 above the guess; 1.0 above it is s = 1.4,
# inputs or a last layer more than twice as large. With many classes half of the guess is more than that.
_TIMES, _ABOVE = 1.5, 1.0
_TIMES_VARIANCE = 20.0
_LARGE = 50.0  # numbers that a last layer takes long to reach, or to come down from
_FEWEST = 8  # targets
_KNOWING = 0.5  # of the guess: untrained models are never that good


def try_initial_loss(case: Case) -> TrialResult:
    loss = case.loss()
    value, guess = loss.item(), guess_for(loss)
    if not math.isfinite(value):
        return failed(
            NAME,
            f"The loss is {value:g} before any training.",
            "torch_debugger.find_nan(model, inputs) names the op that makes it so.",
            loss=value,
        )
    if guess is None:
        raise NotPossibleError(
            f"The loss is {value:.4g}; what guessing would give is known for cross-entropy, binary "
            "cross-entropy and mean squared error alone."
        )
    numbers = {"loss": value, "guessing": guess.loss}
    if value < 0:
        return failed(
            NAME, f"The loss is {value:.4g}, and cannot be below 0 for probabilities.", NOT_LOGS, **numbers
        )
    if guess.targets >= _FEWEST and value > _most(guess):
        return failed(
            NAME,
            f"The loss is {value:.4g}, {value / guess.loss:.3g} times what is expected: {guess.words}.",
            _ADVICE[guess.kind],
            limit=_most(guess),
            **numbers,
        )
    if value < _KNOWING * guess.loss and guess.kind != "numbers":
        words = "The model knows something already: its weights are trained, or the answer is in the input."
        return passed(NAME, f"The loss is {value:.4g}, below {guess.words}. {words}", **numbers)
    return passed(NAME, f"The loss is {value:.4g}; expected is {guess.words}.", **numbers)


def _most(guess: Guess) -> float:
    if guess.kind == "numbers":
        return _TIMES_VARIANCE * guess.loss + 1e-12 if guess.size > _LARGE else math.inf
    return max(_TIMES * guess.loss, guess.loss + _ABOVE * guess.times)


NOT_LOGS = (
    "nll_loss takes log-probabilities: call `F.log_softmax(scores, dim=1)` before it, or cross_entropy on the "
    "scores. Targets of binary cross-entropy are between 0 and 1."
)
_SCORES = (
    "Look at what goes into the model (is it normalised?) and at the last layer: `nn.init.normal_(head.weight, "
    "std=0.02)` starts it with small scores."
)
_ADVICE = {
    "classes": _SCORES,
    "binary": _SCORES,
    "numbers": "Bring the targets to mean 0 and deviation 1, with the numbers of the training set, or start "
    "the last layer's bias at their mean; or make the outputs smaller, if it is they that are large.",
}
