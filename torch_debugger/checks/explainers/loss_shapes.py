"""A loss whose input and target do not fit each other."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, shape_text
from torch_debugger.checks.explainers.losses import CLASS_LOSSES, LossCall, loss_call
from torch_debugger.records import CrashFact, Edit

_CLASS_WHY = (
    "This loss takes scores [batch, classes, ...] and one class number for each of the other positions, "
    "[batch, ...]."
)
_EQUAL_WHY = "This loss compares input and target element by element, so both need the same shape."


def explain_loss_shapes(crash: CrashFact) -> Blame | None:
    call = loss_call(crash) if crash.kind in ("ValueError", "RuntimeError") else None
    if call is None:
        return None
    return _class_loss(crash, call) if call.function in CLASS_LOSSES else _equal_loss(crash, call)


def _class_loss(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, target = call.input.shape, call.target.shape
    # Equal shapes are class probabilities: what fails then is their dtype, not their form.
    if len(scores) < 2 or target in (scores, (scores[0], *scores[2:])):
        return None
    got = f"{call.text(crash)} got scores {shape_text(scores)} and targets {shape_text(target)}"
    if len(scores) == 2 and target == (scores[0], 1):
        fix, edit = call.change(crash, 1, "{}.squeeze(1)")
        return _blame(
            crash,
            call,
            f"{got}: the targets have a dimension too many, {shape_text(scores[:1])} is expected.",
            _CLASS_WHY,
            f"Drop the last dimension: {fix}.",
            edit,
        )
    if len(scores) == 3 and target == scores[:2]:
        fix, edit = call.change(crash, 0, "{}.transpose(1, 2)")
        return _blame(
            crash,
            call,
            f"{got}: the {scores[2]} classes must be in dimension 1, not in the last.",
            _CLASS_WHY,
            f"Move the classes forward: {fix}.",
            edit,
        )
    if target[:1] != scores[:1]:
        return _other_batch(crash, call, got)
    wanted = shape_text((scores[0], *scores[2:]))
    return _blame(
        crash, call, f"{got}, but for these scores the targets must be {wanted}.", _CLASS_WHY,
        f"Bring `{call.target_name}` to {wanted} before this line.", None,
    )  # fmt: skip


def _other_batch(crash: CrashFact, call: LossCall, got: str) -> Blame:
    scores, target = call.input.shape, call.target.shape
    fix: str = (
        f"Make `{call.input_name}` and `{call.target_name}` come from one batch; a view(-1, n) with a wrong n "
        "in forward also changes the number of rows."
    )
    edit: Edit | None = None
    if len(scores) == 3 and target == (scores[0] * scores[1],):
        change, edit = call.change(crash, 0, "{}.flatten(0, 1)")
        fix = f"Merge the first two dimensions of the scores as well: {change}."
    elif len(target) == 2 and len(scores) == 2 and scores[0] == target[0] * target[1]:
        change, edit = call.change(crash, 1, "{}.flatten()")
        fix = f"Flatten the targets as well: {change}."
    rows = target[0] if target else 0
    message = f"{got}: {scores[0]} rows of scores cannot be compared with {rows} targets."
    return _blame(crash, call, message, _CLASS_WHY, fix, edit)


def _equal_loss(crash: CrashFact, call: LossCall) -> Blame | None:
    given, target = call.input.shape, call.target.shape
    if given == target:
        return None
    got = f"{call.text(crash)} got an input {shape_text(given)} and a target {shape_text(target)}"
    fix, edit = f"Bring `{call.target_name}` to {shape_text(given)} before this line.", None
    if given == (*target, 1):
        change, edit = call.change(crash, 1, "{}.unsqueeze(-1)")
        fix = f"Add the missing dimension to the target: {change}."
    elif target == (*given, 1):
        change, edit = call.change(crash, 1, "{}.squeeze(-1)")
        fix = f"Drop the last dimension of the target: {change}."
    return _blame(crash, call, f"{got}; the two must have the same shape.", _EQUAL_WHY, fix, edit)


def _blame(crash: CrashFact, call: LossCall, message: str, why: str, fix: str, edit: Edit | None) -> Blame:
    evidence: dict[str, float | str] = {
        call.input_name: shape_text(call.input.shape),
        call.target_name: shape_text(call.target.shape),
        "line": line_text(crash.place),
    }
    return Blame(message, why, fix, crash.place, evidence, 0.97, edit)
