"""TD314: dropout that throws away nearly everything."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.graph import at
from torch_debugger.checks.state import RunState
from torch_debugger.records import DropoutLook, Edit, Finding, ModelFact, ModuleFact, PhaseFact, Record


class DropoutTooHigh(Check):
    """A Dropout layer drops nine values in ten or more: `p` was taken for the share that is kept.

    Symptom:
        The training loss stays high and is noisy, while the same model in eval mode does better.
    Evidence:
        The setting `p` of a Dropout module in a model that is trained in training mode, or the mask of
        `F.dropout` in the loss's graph. In torch `p` is the probability of being zeroed; in other libraries it
        is the share that is kept.
    Fix:
        Use the share that should be dropped: 0.1 to 0.5.
    Known limits:
        While the loss falls to a tenth it is only noted.
    """

    id = "TD314"
    name = "dropout-too-high"
    title = "a dropout layer drops nearly everything"
    reads = (ModelFact, PhaseFact, DropoutLook)

    # Graph networks on tiny data use up to 0.8 on purpose.
    highest = 0.9
    healthy_fall = 0.9

    def __init__(self) -> None:
        self._trained: set[str] = set()
        self._masks: list[DropoutLook] = []

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, PhaseFact) and record.training and record.grad:
            self._trained.add(record.root)
        elif isinstance(record, DropoutLook) and self.highest <= record.share < 1:
            self._masks.append(record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        for root, model in state.models.items():
            high = [module for module in model.modules if self.highest <= module.settings.get("p", 0.0) < 1]
            masks = [mask for mask in self._masks if mask.source.split(".")[0] == root]
            called = [_as_module(mask, state) for mask in masks if len({mask.step for mask in masks}) > 1]
            if root in self._trained and (high or called) and fallen is not None:
                yield self._judge(high or called[:1], fallen, model, state)

    def _judge(self, high: list[ModuleFact], fallen: float, model: ModelFact, state: RunState) -> Finding:
        dropout, share = high[0], high[0].settings["p"]
        kept = round(1 - share, 4) or 0.1
        name = f"`{dropout.path}`" if dropout.kind else f"The dropout after `{dropout.path}`{at(dropout.place)}"
        others = f", and {len(high) - 1} more like it" if len(high) > 1 else ""
        return self.finding(
            severity="warning" if fallen < self.healthy_fall else "note",
            confidence=0.85,
            message=(
                f"{name} drops {share:.0%} of what it is given{others}: only {kept:.0%} of the "
                f"values pass in training. The loss has fallen by {max(0.0, fallen):.0%}."
            ),
            why=(
                "`p` is the probability that a value is set to 0, not that it is kept. What passes is "
                f"multiplied by {1 / kept:.3g}, so the layers behind see mostly noise."
            ),
            fix=f"Write `p={kept:g}` if {share:.0%} should be kept; usual values are 0.1 to 0.5.",
            where=dropout.place,
            first_step=model.step,
            last_step=max(model.step, state.step),
            evidence={"p": share, "layers": float(len(high)), "loss_fallen": fallen},
            edit=_edit(dropout, share, kept),
        )


def _as_module(mask: DropoutLook, state: RunState) -> ModuleFact:
    """A call of F.dropout, or the dropout between the layers of an LSTM, told like a layer that has no kind."""
    layer = state.module(mask.source)
    place = mask.place if mask.place.file or layer is None else layer.place
    return ModuleFact(mask.source, "", place, settings={"p": mask.share})


def _edit(dropout: ModuleFact, share: float, kept: float) -> Edit | None:
    place, written = dropout.place, f"{share:g}"
    if place.file is None or place.line is None or (place.code or "").count(written) != 1:
        return None
    return Edit(place.file, place.line, place.code or "", (place.code or "").replace(written, f"{kept:g}"))
