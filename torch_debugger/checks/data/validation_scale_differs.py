"""TD215: validation inputs are on another scale than those the model is trained on."""

from __future__ import annotations

import ast
import functools
import statistics
from collections import deque
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, is_evaluation, name_of
from torch_debugger.checks.model_call import only_argument
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, Record, RootInput

_MOST_LOOKS = 64  # the last ones


class ValidationScaleDiffers(Check):
    """The inputs of validation are scaled differently from those of training.

    Symptom:
        Training goes well and validation is as bad as chance, from the first epoch on: it looks like extreme
        overfitting.
    Evidence:
        The deviation of what the model is given, in training and without gradients, differs by a factor of ten
        or more in every look, for inputs of the same shape.
    Fix:
        Apply the same preprocessing to both: the same transform, or the training data's mean and std.
    Known limits:
        Only factors of ten and more are told, as from a missing division by 255. Calls without gradients count
        as validation if they come with a loader, or with a variable, that is named so.
    """

    id = "TD215"
    name = "validation-scale-differs"
    title = "validation inputs are scaled differently"
    reads = (RootInput, BatchLook)
    explains = ("batchnorm-stats-diverge",)

    factor = 10.0
    looks_needed = 3

    def __init__(self) -> None:
        self._trained: dict[str, deque[RootInput]] = {}
        self._evaluated: dict[str, deque[RootInput]] = {}
        self._loader_steps: set[int] = set()  # steps in which a validation loader delivered
        self._settled: set[str] = set()  # roots that are reported, or whose two scales have come close

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, BatchLook):
            fact = state.loaders.get(record.loader)
            if not record.trained and fact is not None and is_evaluation(name_of(fact)):
                self._loader_steps.add(record.step)
        elif isinstance(record, RootInput) and self._counts(record):
            looks = self._trained if record.trained else self._evaluated
            looks.setdefault(record.root, deque(maxlen=_MOST_LOOKS)).append(record)
            yield from self._compare(record.root)

    def _counts(self, look: RootInput) -> bool:
        return look.root not in self._settled and look.std > 0 and look.shape[0] > 1

    def finish(self, state: RunState) -> Iterable[Finding]:
        for root in tuple(self._evaluated):
            yield from self._compare(root)

    def _compare(self, root: str) -> Iterable[Finding]:
        trained = list(self._trained.get(root, ()))
        evaluated = [look for look in self._evaluated.get(root, ()) if self._is_validation(look)]
        if root in self._settled or not trained or not evaluated:
            return
        shapes = {look.shape[1:] for look in [*trained, *evaluated]}
        low, high = sorted((trained, evaluated), key=lambda looks: statistics.median(map(_std, looks)))
        if len(shapes) > 1 or min(map(_std, high)) < self.factor * max(map(_std, low)):
            self._settled.add(root)
        elif min(len(trained), len(evaluated)) >= self.looks_needed:
            self._settled.add(root)
            yield self._judge(trained, evaluated)

    def _is_validation(self, look: RootInput) -> bool:
        return look.step in self._loader_steps or any(is_evaluation(name) for name in _names(look))

    def _judge(self, trained: list[RootInput], evaluated: list[RootInput]) -> Finding:
        before, after = trained[-1], evaluated[-1]
        times = max(before.std / after.std, after.std / before.std)
        return self.finding(
            severity="error",
            confidence=0.92,
            message=(
                f"`{after.root}` is validated{at(after.call)} on inputs with a deviation of {after.std:.3g}, "
                f"and trained{at(before.call)} on inputs with {before.std:.3g}: a factor of {times:.0f}."
            ),
            why=(
                "A model answers sensibly only for inputs like those it has learned from. One of the two goes "
                "through a step of preprocessing that the other lacks."
            ),
            fix=(
                f"Prepare the inputs of the call{at(after.call)} exactly as those{at(before.call)}: the same "
                "transform, division or normalization."
            ),
            where=after.call,
            first_step=evaluated[0].step,
            last_step=after.step,
            evidence={"validation_std": after.std, "training_std": before.std, "factor": times},
        )


def _std(look: RootInput) -> float:
    return look.std


def _names(look: RootInput) -> tuple[str, ...]:
    """The variables in what the model is given on that line."""
    return _names_in(look.call.code, look.root)


@functools.lru_cache(maxsize=256)
def _names_in(code: str | None, root: str) -> tuple[str, ...]:
    argument = only_argument(code, root)
    tree = ast.parse(argument) if argument else None
    return tuple(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else ()
