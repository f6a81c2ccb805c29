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
        self._told: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, BatchNormLook) or not record.biased:
            return ()
        steps = self._looks.setdefault(record.biased, [])
        self._norms[record.biased] = record.name
        steps.append(record.step)
        del steps[1:-1]
        root = record.biased.split(".", 1)[0]
        if root in self._told or len(steps) < self.looks_needed:
            return ()
        return self._tell(root, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return [finding for root in sorted(self._told) for finding in self._tell(root, state)]

    def _tell(self, root: str, state: RunState) -> list[Finding]:
        """One note a model, at the first of its layers that the user's own line makes."""
        own = [layer for layer in reversed(self._looks) if layer.split(".", 1)[0] == root]
        made = [layer for layer in own if (fact := state.module(layer)) is not None and fact.place.file]
        if not made:
            return []
        self._told.add(root)
        return [self._judge(made, state)]

    def _judge(self, layers: list[str], state: RunState) -> Finding:
        first, steps = layers[0], self._looks[layers[0]]
        module = state.module(first)
        place, kind = (module.place, module.kind) if module is not None else (Place(), "layer")
        edit = with_keyword(place, kind, "bias", "False")
        more = _more(len(layers) - 1)
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
            evidence={"layers": float(len(layers)), "norm": self._norms[first]},
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
