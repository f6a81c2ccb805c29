"""TD206: validation samples that are trained on as well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, inputs_of, is_evaluation, line_of, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchLook, Finding, LoaderFact, Record


@dataclass
class _Samples:
    """Digests of what one loader delivered."""

    digests: set[int] = field(default_factory=set)
    count: int = 0

    def see(self, look: BatchLook) -> None:
        tensor = inputs_of(look)[0]
        self.digests |= set(tensor.samples)
        if look.iteration == 1:  # later ones repeat what was there
            self.count += len(tensor.samples)

    def tells_apart(self, share: float) -> bool:
        """Whether a digest stands for one sample: tiny vocabularies and blank samples repeat themselves."""
        return bool(self.count) and len(self.digests) >= share * self.count


class TrainValidationOverlap(Check):
    """Samples of the validation data are in the training data too.

    Symptom:
        Validation looks as good as training, to the last epoch; on new data the model is much worse.
    Evidence:
        Digests of whole samples from the loader that is trained on and from the one that is only evaluated.
        Both tell their samples apart, and a large part of the second is in the first.
    Fix:
        Split once, before anything else, with `random_split(dataset, [n_train, n_val])`, and give each
        loader its part.
    Known limits:
        Samples that training changes at random (augmentation) have other digests and are not recognized.
        A loader is taken for validation by the user's name for it; one that evaluates on training data
        under a name with `train` is not reported.
    """

    id = "TD206"
    name = "train-validation-overlap"
    title = "validation samples are in the training data"
    reads = (BatchLook,)

    matches_needed = 16
    # Of the validation samples seen, relative to the share of the training data that was seen.
    overlap = 0.3
    # Of the samples must be distinct: below, equal digests prove nothing.
    distinct = 0.9

    def __init__(self) -> None:
        self._trained: dict[int, _Samples] = {}
        self._evaluated: dict[int, _Samples] = {}
        self._rival: dict[int, int] = {}  # the loader that was trained on when an evaluated one first came
        self._last_trained = 0
        self._reported: set[int] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, BatchLook)
        if not inputs_of(record):
            return
        if record.trained:
            self._last_trained = record.loader
            self._trained.setdefault(record.loader, _Samples()).see(record)
        elif self._last_trained and record.loader not in self._trained:
            self._rival.setdefault(record.loader, self._last_trained)
            self._evaluated.setdefault(record.loader, _Samples()).see(record)
            yield from self._compare(record, state)

    def _compare(self, look: BatchLook, state: RunState) -> Iterable[Finding]:
        fact, rival = state.loaders.get(look.loader), state.loaders.get(self._rival[look.loader])
        if fact is None or rival is None or look.loader in self._reported:
            return
        trained, evaluated = self._trained[rival.number], self._evaluated[look.loader]
        both = len(trained.digests & evaluated.digests)
        seen = min(1.0, len(trained.digests) / rival.samples) if rival.samples else 1.0
        apart = trained.tells_apart(self.distinct) and evaluated.tells_apart(self.distinct)
        many = both >= max(self.matches_needed, self.overlap * seen * len(evaluated.digests))
        if apart and many and is_evaluation(name_of(fact)):
            self._reported.add(look.loader)
            yield self._judge(fact, rival, both, len(evaluated.digests), look.step)

    def _judge(self, fact: LoaderFact, rival: LoaderFact, both: int, count: int, step: int) -> Finding:
        where, name, other = line_of(fact), name_of(fact), name_of(rival)
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"{both} of the {count} samples seen from `{name}`{at(where)} are in "
                f"`{other}`{at(line_of(rival))} as well: the model is validated on what it was trained on."
            ),
            why=(
                "A model remembers samples it has seen. Measured on them, it looks better than it is, and "
                "overfitting does not show."
            ),
            fix=(
                f"Give `{name}`{at(where)} samples that `{other}` does not have, for instance from "
                "`torch.utils.data.random_split(dataset, [n_train, n_val])`."
            ),
            where=where,
            first_step=step,
            last_step=step,
            evidence={"shared": float(both), "seen": float(count)},
        )
