"""Pasted tracebacks: a loss whose input and target do not fit each other."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, shape_text
from torch_debugger.checks.explainers.texts.text_reading import read
from torch_debugger.records import CrashFact

_LOSS = r"/torch/nn/functional\.py$"


def explain_text_batches(crash: CrashFact) -> Blame | None:
    told = read(
        crash, r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)", through=_LOSS
    )
    if told is None:
        return None
    rows, targets = told.number(1), told.number(2)
    ratio = max(rows, targets) / max(min(rows, targets), 1)
    times = f", {ratio:.0f} times as many" if ratio == int(ratio) and ratio > 1 else ""
    return told.blame(
        f"the loss called by {told.at} got {rows} rows of predictions and {targets} targets.",
        f"Each row needs one target. {max(rows, targets)} is not {min(rows, targets)}{times}: a view or a "
        "flatten before the loss may have moved entries into the batch dimension.",
        "Keep the batch dimension: `x.flatten(1)`, not `x.view(-1, n)`; and flatten the target like the input.",
        "the shapes on the way to the loss",
        rows=rows,
        targets=targets,
    )


def explain_text_target_size(crash: CrashFact) -> Blame | None:
    told = read(
        crash,
        r"arget size \(torch\.Size\(\[([\d, ]*)\]\)\) (?:that is different to|must be the same as) "
        r"(?:the )?input size \(torch\.Size\(\[([\d, ]*)\]\)\)",
        through=_LOSS,
    )
    if told is None:
        return None
    target, given = told.sizes(1), told.sizes(2)
    fix = "Bring both to one shape."
    if given == (*target, 1):
        fix = "Drop the last dimension of the prediction, `.squeeze(-1)`, or add one to the target."
    elif target == (*given, 1):
        fix = "Drop the last dimension of the target: `.squeeze(-1)`."
    return told.blame(
        f"the loss called by {told.at} compares a prediction of shape {shape_text(given)} with a target of "
        f"shape {shape_text(target)}.",
        "This loss compares entry by entry, so both must have one shape.",
        fix,
        "where the two were made",
        prediction=shape_text(given),
        target=shape_text(target),
    )


LOSS_TEXTS = (
    explain_text_batches,
    explain_text_target_size,
)
