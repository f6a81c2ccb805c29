"""TD319: a bias that the batch normalisation right behind it subtracts again."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.keyword_argument import with_keyword
from torch_debugger.checks.state import RunState
from torch_debugger.records import BatchNormLook, Finding, Place, Record


class BiasBeforeBatchnorm(Check):
    """A layer adds a bias, and the BatchNorm right behind it subtracts it again with the mean.

    Symptom:
        None in the loss. The biases get a gradient of zero (up to rounding), stay where they began, and take
        memory and time in every step; weight decay and gradient norms are computed over them for nothing.
    Evidence:
        The autograd graph: the output of a Linear or convolution goes into a BatchNorm in training mode and
        nowhere else.
    Fix:
        Make the layer with `bias=False`; the BatchNorm has a bias of its own.
    Known limits:
        Advice, never more than a note. Layers made by a library are not told, nor a Linear layer whose output
        is viewed or transposed before it is normalised.
    """

    id = "TD319"
    name = "bias-before-batchnorm"
    title = "a bias that BatchNorm subtracts again"
    reads = (BatchNormLook,)

    looks_needed = 2

    def __init__(self) -> None:
        self._looks: dict[str, list[int]] = {}  # layer -> steps
        self._norms: dict[str, str] = {}
        self._told = ""  # the layer that the note is about

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, BatchNormLook) or not record.biased:
            return ()
        steps = self._looks.setdefault(record.biased, [])
        self._norms[record.biased] = record.name
        steps.append(record.step)
        del steps[1:-1]
        return self._tell(state) if len(steps) >= self.looks_needed and not self._told else ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._tell(state) if self._told else ()

    def _tell(self, state: RunState) -> list[Finding]:
        """One note a run, at the first layer that the user's own line makes."""
        made = [layer for layer in self._looks if (fact := state.module(layer)) and fact.place.file]
        self._told = self._told or (self._first_model(made) if made else "")
        return [self._judge(self._told, len(made), state)] if made else []

    def _first_model(self, layers: list[str]) -> str:
        """The first layer of the model that was met first: they are met on the way back from the loss."""
        root = layers[0].split(".", 1)[0]
        return [layer for layer in layers if layer.split(".", 1)[0] == root][-1]

    def _judge(self, first: str, count: int, state: RunState) -> Finding:
        steps = self._looks[first]
        module = state.module(first)
        place, kind = (module.place, module.kind) if module is not None else (Place(), "layer")
        edit = with_keyword(place, kind, "bias", "False")
        more = _more(count - 1)
        return self.finding(
            severity="note",
            confidence=0.95,
            message=(
                f"`{first}` ({kind}) adds a bias that `{self._norms[first]}` right behind it subtracts again"
                f"{more}: {'these biases have' if more else 'it has'} no effect."
            ),
            why=(
                "BatchNorm subtracts each channel's mean over the batch, and with it whatever constant was "
                "added to the channel; its own bias takes that place."
            ),
            fix=f"Write `{edit.after}`." if edit else f"Make `{first}` with `bias=False`.",
            where=Place(place.file, place.line, first, place.code),
            first_step=steps[0],
            last_step=max(steps[-1], state.step),
            evidence={"layers": float(count), "norm": self._norms[first]},
            edit=edit,
        )


def _more(count: int) -> str:
    return (
        ""
        if not count
        else ", and so does one more layer"
        if count == 1
        else f", and so do {count} more layers"
    )
