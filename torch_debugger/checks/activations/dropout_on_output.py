"""TD313: dropout behind the last layer, on the scores themselves."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.graph import model_behind, op_of, operands, origin
from torch_debugger.checks.per_loss import LossGraphCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GraphNode, LossGraph, ModuleFact, Record, TensorRows

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
        The autograd graph of the loss: what the loss takes is the last layer's output multiplied with a mask,
        and the module of the model that ran last is a Dropout.
    Fix:
        Move the dropout in front of the last layer, or remove it.
    Known limits:
        Only losses of torch on a model with a Dropout module are judged; `F.dropout` is not recognised.
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
                self._last[record.table.root] = _last_leaf(record)
            return ()
        return super().see(record, state)

    def _dropout(self, graph: LossGraph, state: RunState) -> ModuleFact | None:
        """The module that ran last in the model behind the loss, if that is a dropout that really drops."""
        model = model_behind(graph, state)
        last = state.module(self._last.get(model.root, "")) if model is not None else None
        return last if last is not None and 0 < last.settings.get("p", 0.0) < 1 else None

    def judge(self, graph: LossGraph, state: RunState) -> Finding | None:
        taker = next((node for node in graph.nodes if _is_dropped(graph, node)), None)
        dropout = self._dropout(graph, state)
        if taker is None or dropout is None:
            return None
        share = dropout.settings["p"]
        loss = _TAKERS[op_of(taker)]
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"`{dropout.path}` sets {share:.0%} of the model's outputs to 0 before {loss} sees them: "
                "dropout stands behind the last layer."
            ),
            why=(
                "Dropout makes hidden features work without each other. On the output it deletes the answer "
                "itself, at random: no weights can make up for that, and what is left is scaled up by "
                f"{1 / (1 - share):.3g}."
            ),
            fix=(
                f"Move `{dropout.path}` ({dropout.kind}) in front of the last layer, so that the layer's "
                "output goes to the loss as it is."
            ),
            where=dropout.place,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"p": share, "dropout": dropout.path, "loss": loss},
        )


def _is_dropped(graph: LossGraph, node: GraphNode) -> bool:
    """What this node takes first went through a mask, right after a layer."""
    if op_of(node) not in _TAKERS:
        return False
    taken = next(iter(operands(graph, node)), None)
    mask = origin(graph, taken) if taken is not None else None
    if mask is None or op_of(mask) not in ("Mul", "NativeDropout", "FusedDropout"):
        return False
    masked = list(operands(graph, mask))
    return len(masked) == 1 and op_of(masked[0]) in _LAYERS and masked[0].shape == mask.shape


def _last_leaf(rows: TensorRows) -> str:
    """The module that ran last; those around it end after it."""
    names = rows.table.names
    leaves = [name for name in names if not any(other.startswith(name + ".") for other in names)]
    return leaves[-1] if leaves else ""
