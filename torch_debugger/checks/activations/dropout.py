"""Dropout that takes too much, or stands behind the last layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_debugger.checks.base import Check, RunState, at_line, nodes_with, op_of
from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.loss_graph import LossGraphCheck, first_operand, model_behind, operands, origin
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import (
    AutogradNode,
    DropoutLook,
    Finding,
    LossGraph,
    ModelFact,
    ModuleFact,
    PhaseFact,
    Record,
    TensorRows,
)


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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, PhaseFact) and record.training and record.grad:
            self._trained.add(record.root)
        elif isinstance(record, DropoutLook) and self.highest <= record.share < 1:
            self._masks.append(record)

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
        name = f"`{dropout.path}`" if dropout.kind else f"The dropout after `{dropout.path}`{at_line(dropout.place)}"
        others = f", and {len(high) - 1} more like it" if len(high) > 1 else ""
        return self.finding(
            severity="warning" if fallen < self.healthy_fall else "note",
            confidence=0.85,
            message=f"{name} drops {share:.0%} of what it is given{others}: only {kept:.0%} of the "
            f"values pass in training. The loss has fallen by {max(0.0, fallen):.0%}.",
            why="`p` is the probability that a value is set to 0, not that it is kept. What passes is "
            f"multiplied by {1 / kept:.3g}, so the layers behind see mostly noise.",
            fix=f"Write `p={kept:g}` if {share:.0%} should be kept; usual values are 0.1 to 0.5.",
            where=dropout.place,
            steps=(model.step, max(model.step, state.step)),
            evidence={"p": share, "layers": float(len(high)), "loss_fallen": fallen},
            edit=replace_in_line(dropout.place, f"{share:g}", f"{kept:g}"),
        )


def _as_module(mask: DropoutLook, state: RunState) -> ModuleFact:
    """A call of F.dropout, or the dropout between the layers of an LSTM, told like a layer that has no kind."""
    layer = state.module(mask.source)
    place = mask.place if mask.place.file or layer is None else layer.place
    return ModuleFact(mask.source, "", place, settings={"p": mask.share})


_TAKERS = {
    "LogSoftmax": "cross-entropy", "BinaryCrossEntropyWithLogits": "binary cross-entropy",
    "MseLoss": "the squared error", "L1Loss": "the absolute error", "SmoothL1Loss": "the smooth L1 loss",
    "HuberLoss": "the Huber loss",
}  # fmt: skip
_LAYERS = ("Addmm", "Mm", "Convolution", "View", "UnsafeView", "Add")


class DropoutOnOutput(LossGraphCheck):
    """Dropout is applied to the model's output, so the loss sees scores that were replaced by zeros.

    Symptom:
        The loss stays far above zero and is noisy, while the same model in eval mode is much better.
    Evidence:
        The autograd graph of the loss: what the loss takes is the last layer's output multiplied with a mask
        of zeros and 1 / (1 - p), or the module of the model that ran last is a Dropout.
    Fix:
        Move the dropout in front of the last layer, or remove it.
    Known limits:
        Only losses of torch are judged.
    """

    id = "TD313"
    name = "dropout-on-output"
    title = "dropout is applied to the model's output"

    reads = (LossGraph, TensorRows)

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, str] = {}  # model -> the module that ran last

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TensorRows):
            if record.table.kind == "activation":
                # The module that ran last; those around it end after it.
                names = record.table.names
                leaves = (each for each in reversed(names) if not any(other.startswith(f"{each}.") for other in names))
                self._last[record.table.root] = next(leaves, "")
            return ()
        return super().see(record, state)

    def _dropout(self, graph: LossGraph, state: RunState) -> ModuleFact | None:
        """The module that ran last in the model behind the loss, if that is a dropout that really drops."""
        model = model_behind(graph, state)
        last = state.module(self._last.get(model.root, "")) if model is not None else None
        return last if last is not None and 0 < last.settings.get("p", 0.0) < 1 else None

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        taker, mask = next(_dropped(graph), (None, None))
        if taker is None or mask is None:
            return None
        module = self._dropout(graph, state) or _like(mask, graph, state)
        share = float(mask.saved.get("dropped", module.settings["p"] if module is not None else 0.0))
        if not 0 < share < 1:
            return None
        place = module.place if module is not None else mask.place or graph.made
        path = module.path if module is not None else None
        loss, name = _TAKERS[op_of(taker)], f"`{path}`" if path else f"The dropout{at_line(place)}"
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"{name} sets {share:.0%} of the model's outputs to 0 before {loss} sees them: "
            "dropout stands behind the last layer.",
            why="Dropout makes hidden features work without each other. On the output it deletes the answer itself, "
            f"at random: no weights can make up for that, and what is left is scaled up by {1 / (1 - share):.3g}.",
            fix=f"Move {name[0].lower() + name[1:]} in front of the last layer, so that the layer's "
            "output goes to the loss as it is.",
            where=place,
            steps=(graph.step, max(graph.step, state.step)),
            evidence={"p": share, "dropout": path or "F.dropout", "loss": loss},
        )


def _dropped(graph: LossGraph) -> Iterator[tuple[AutogradNode, AutogradNode]]:
    """Loss functions that take a layer's output right after a mask, and these masks."""
    for node in nodes_with(graph, _TAKERS):
        mask = origin(graph, first_operand(graph, node))
        if mask is not None and op_of(mask) in ("Mul", "NativeDropout", "FusedDropout"):
            masked = list(operands(graph, mask))
            if len(masked) == 1 and op_of(masked[0]) in _LAYERS and masked[0].shape == mask.shape:
                yield node, mask


def _like(mask: AutogradNode, graph: LossGraph, state: RunState) -> ModuleFact | None:
    """The model's last dropout with the mask's share, where no line of forward is known that returns one."""
    model = model_behind(graph, state) if mask.place is None else None
    share = mask.saved.get("dropped", 0.0)
    found = [module for module in model.modules if module.settings.get("p") == share] if model else []
    return found[-1] if found else None
