"""TD145: a frozen model that others learn from, with its dropout or batch norm on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, QuietModel, Record


class TeacherInTrainMode(Check):
    """A model that is not trained takes part in the training of another one in training mode.

    Symptom:
        The student ends worse than it should: what the teacher, or the frozen encoder, says about a sample
        changes from step to step, and with batch norm depends on the rest of the batch.
    Evidence:
        A model with dropout or batch norm that is called without gradients in the steps that train another one.
        Its weights stay the same from look to look, and the layers with two modes are in training mode.
    Fix:
        Call its `eval()` before the loop, and after every `train()` of a module that contains it.
    Known limits:
        Where the trained layers only build on what it makes, as on a frozen encoder, it is noted and no more.
        Averages and target networks, whose weights change, are left alone, as is a copy with the very shapes of
        the trained model, and a model that is asked several times a step: dropout then serves to sample.
    """

    id = "TD145"
    name = "teacher-in-train-mode"
    title = "a frozen teacher or encoder is used in training mode"
    reads = (QuietModel,)
    explains = ("batchnorm-stats-diverge",)

    looks_needed = 2
    # A model that is asked more often in a step is asked for samples.
    most_calls = 2

    def __init__(self) -> None:
        self._looks: dict[str, list[QuietModel]] = {}  # in a row, with dropout or batch norm on
        self._moved: dict[str, int] = {}  # how often a model began to move

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, QuietModel):
            looks = self._looks.setdefault(record.name, [])
            if record.moves and looks:
                self._moved[record.name] = self._moved.get(record.name, 0) + 1
            if record.moves or not record.training or record.twin or record.calls > self.most_calls:
                looks.clear()
            else:
                looks.append(record)
        return ()

    def finish(self, state: RunState) -> Iterator[Finding]:
        """What rests for a while, as one side of a game does, may move again: only the end can tell."""
        for name, looks in self._looks.items():
            if len(looks) >= self.looks_needed and not self._moved.get(name):
                yield self._judge(looks, state)

    def _judge(self, looks: list[QuietModel], state: RunState) -> Finding:
        first, last = looks[0], looks[-1]
        where = first.trains[-1] if first.trains else first.call
        return self.finding(
            severity="note" if first.feeds else "warning",
            confidence=0.88,
            message=(
                f"`{first.name}` ({first.kind}) is not trained, but called in training mode"
                f"{at_line(first.call)} since step {first.step}: {_layers(first)} of it acted in all "
                f"{len(looks)} looks."
            ),
            why=(
                "In training mode dropout removes values at random, and batch norm uses the statistics of the "
                "batch: the same sample gets another answer every time."
            ),
            fix=(
                f"Call `{first.name}.eval()` before the training loop, and after each `train()` of a module "
                "that contains it."
            ),
            where=where,
            first_step=first.step,
            last_step=max(last.step, state.step),
            evidence={
                "dropouts": float(first.dropouts),
                "batch_norms": float(first.norms),
                "looks": float(len(looks)),
            },
        )


def _layers(look: QuietModel) -> str:
    kinds = [(look.dropouts, "layer{} with dropout"), (look.norms, "batch norm layer{}")]
    return " and ".join(f"{count} {what.format('s' if count > 1 else '')}" for count, what in kinds if count)
