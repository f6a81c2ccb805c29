"""TD203: features go into the first layer in their raw units."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at
from torch_debugger.checks.model_call import only_argument
from torch_debugger.checks.raw_inputs import LARGE, RawInputs, is_image, is_trained, rms, root_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, InputLook, Record, TargetLook

_KINDS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "RNN", "LSTM", "GRU")


class InputNotNormalized(Check):
    """Inputs reach the first layer in raw units, a hundred times the size that weights are made for.

    Symptom:
        The loss starts far too high, swings, or stays near that of a constant guess; small changes of the
        learning rate decide between nothing and divergence.
    Evidence:
        On several deep steps the numbers given to the first layer that learns had a mean square in the
        tens of thousands; of a table, the column with the largest values is named.
    Fix:
        Standardize with the training data's statistics: `x = (x - mean) / std`, column by column.
    Known limits:
        Judged at the layer itself, so a normalisation anywhere before it counts. Below a root mean square of
        100 nothing is said, and a run whose loss falls all the same gets a note. Images from 0 to 255 are told
        by image-range-0-255.
    """

    id = "TD203"
    name = "input-not-normalized"
    title = "features go into the model in raw units"
    reads = (InputLook, TargetLook)
    explains = (
        "lr-too-high", "dead-relu", "saturated-sigmoid-or-tanh", "loss-not-finite", "overflow-ahead",
        "vanishing-gradient",
    )  # fmt: skip

    # For layers with PyTorch's default or any fan-in initialization, which assume inputs of unit variance.
    large = 2 * LARGE

    def __init__(self) -> None:
        self._raw = RawInputs()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, InputLook | TargetLook)
        if isinstance(record, TargetLook) or record.kind in _KINDS:
            self._raw.see(record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        for looks in self._raw.layers():
            large = all(rms(look) >= self.large and not is_image(look) for look in looks)
            if large and is_trained(looks[0], state):
                yield self._judge(looks, self._raw.severity(state))

    def _judge(self, looks: list[InputLook], severity: str) -> Finding:
        first, last = looks[0], looks[-1]
        argument = only_argument(first.call.code, root_of(first)) or "x"
        column = f": column {last.column} has a root mean square of {last.column_rms:.4g}"
        return self.finding(
            severity=severity,
            confidence=0.88,
            message=(
                f"`{first.layer}` ({first.kind}) is given raw numbers between {last.minimum:.4g} and "
                f"{last.maximum:.4g} by the call{at(first.call)}{column if last.column >= 0 else ''}."
            ),
            why=(
                "Layers draw their weights for inputs of about unit size. One column in raw units drowns the "
                "others, and its gradient is larger by the square of its size."
            ),
            fix=(
                f"Standardize before the model is called{at(first.call)}: "
                f"`{argument} = ({argument} - mean) / std` with `mean` and `std` of the training data, "
                "column by column."
            ),
            where=first.call,
            first_step=first.step,
            last_step=last.step,
            evidence={"rms": rms(last), "minimum": last.minimum, "maximum": last.maximum},
        )
