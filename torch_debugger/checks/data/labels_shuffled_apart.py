"""TD217: inputs and labels that were shuffled apart."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import Points
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, ShuffledPair


class LabelsShuffledApart(Check):
    """Of two arrays that belong together one is shuffled alone, so that samples get other samples' labels.

    Symptom:
        The loss falls to what guessing gives and stays there, whatever the model.
    Evidence:
        The source: two arrays are read with one and the same index, or handed to one `zip` or `TensorDataset`,
        and a line before shuffles one of them, or each in an order of its own; or one is read with a shuffled
        index and the other without. And the loss curve: after its beginning the loss hardly falls any further.
    Fix:
        Draw one order and use it for both arrays.
    Known limits:
        Only arrays that are shuffled and paired in the same function or class are told. With several optimizers
        nothing is said: domains without pairs are read side by side on purpose.
    """

    id = "TD217"
    name = "labels-shuffled-apart"
    title = "inputs and labels are shuffled apart"
    reads = (ShuffledPair,)
    explains = ("lr-too-low", "overfits-training-data", "vanishing-gradient", "posterior-collapse")

    fewest_losses = 30
    # Of the level after the first tenth of the run: what is memorised or learned falls further than that.
    most_fallen = 0.3

    def __init__(self) -> None:
        self._pairs: list[ShuffledPair] = []

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, ShuffledPair):
            self._pairs.append(record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = self._fallen(state.losses.finite())
        if self._pairs and len(state.optimizers) == 1 and fallen is not None and fallen < self.most_fallen:
            yield self._judge(self._pairs[0], fallen, state)

    def _fallen(self, points: Points) -> float | None:
        if len(points) < self.fewest_losses:
            return None
        values = [value for _, value in points]
        begun = statistics.median(values[len(values) // 10 : len(values) // 3])
        now = statistics.median(values[-len(values) // 5 :])
        return 1.0 - now / begun if begun > 0 else None

    def _judge(self, pair: ShuffledPair, fallen: float, state: RunState) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"{_what(pair)}: samples get the labels of others. Since its beginning the loss has fallen by "
                f"{max(0.0, fallen):.0%}."
            ),
            why=(
                "No input tells anything about its label any more. What is left to learn is how often each "
                "label occurs."
            ),
            fix=_fix(pair),
            where=pair.place,
            first_step=pair.step,
            last_step=max(pair.step, state.step),
            evidence={"first": pair.first, "second": pair.second, "loss_fallen": fallen},
        )


def _what(pair: ShuffledPair) -> str:
    first, second = pair.first, pair.second
    if pair.index:
        return f"`{first}` is read in the shuffled order `{pair.index}`, and `{second}` beside it in its own"
    if pair.both:
        return f"`{first}` and `{second}`, which are read side by side, are shuffled in two different orders"
    return f"`{first}` is shuffled, and `{second}`, which is read side by side with it, is not"


def _fix(pair: ShuffledPair) -> str:
    first, second = pair.first, pair.second
    if pair.index:
        return f"Read both with the same index, in one order: `{second}[{pair.index}]`."
    return (
        f"Draw one order and use it for both: `order = torch.randperm(len({first}))`, then `{first}[order]` "
        f"and `{second}[order]`."
    )
