"""TD313: dropout behind the last layer, on the scores themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_debugger.checks.graph import at, model_behind, operands, origin
from torch_debugger.checks.graph_ops import nodes_with, op_of
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
                self._last[record.table.root] = _last_leaf(record)
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
        loss, name = _TAKERS[op_of(taker)], f"`{path}`" if path else f"The dropout{at(place)}"
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"{name} sets {share:.0%} of the model's outputs to 0 before {loss} sees them: "
                "dropout stands behind the last layer."
            ),
            why=(
                "Dropout makes hidden features work without each other. On the output it deletes the answer "
                "itself, at random: no weights can make up for that, and what is left is scaled up by "
                f"{1 / (1 - share):.3g}."
            ),
            fix=(
                f"Move {name[0].lower() + name[1:]} in front of the last layer, so that the layer's "
                "output goes to the loss as it is."
            ),
            where=place,
            first_step=graph.step,
            last_step=max(graph.step, state.step),
            evidence={"p": share, "dropout": path or "F.dropout", "loss": loss},
        )


def _dropped(graph: LossGraph) -> Iterator[tuple[GraphNode, GraphNode]]:
    """Loss functions that take a layer's output right after a mask, and these masks."""
    for node in nodes_with(graph, _TAKERS):
        taken = next(iter(operands(graph, node)), None)
        mask = origin(graph, taken) if taken is not None else None
        if mask is not None and op_of(mask) in ("Mul", "NativeDropout", "FusedDropout"):
            masked = list(operands(graph, mask))
            if len(masked) == 1 and op_of(masked[0]) in _LAYERS and masked[0].shape == mask.shape:
                yield node, mask


def _like(mask: GraphNode, graph: LossGraph, state: RunState) -> ModuleFact | None:
    """The model's last dropout with the mask's share, where no line of forward is known that returns one."""
    model = model_behind(graph, state) if mask.place is None else None
    share = mask.saved.get("dropped", 0.0)
    found = [module for module in model.modules if module.settings.get("p") == share] if model else []
    return found[-1] if found else None


def _last_leaf(rows: TensorRows) -> str:
    """The module that ran last; those around it end after it."""
    names = rows.table.names
    leaves = (name for name in reversed(names) if not any(other.startswith(name + ".") for other in names))
    return next(leaves, "")
