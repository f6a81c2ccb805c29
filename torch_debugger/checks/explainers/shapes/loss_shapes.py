"""A loss whose input and target do not fit each other."""

from __future__ import annotations

import math

from torch_debugger.checks.explainers.blame import Blame, line_text, shape_text
from torch_debugger.checks.explainers.dtypes.casts import cast_to
from torch_debugger.checks.explainers.losses import CLASS_LOSSES, STRICT, LossCall, loss_call, swapped
from torch_debugger.checks.explainers.shapes.inference import clash
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
    if call.function in CLASS_LOSSES:
        return _class_loss(crash, call) or _class_weights(crash, call)
    return _equal_loss(crash, call)


def _class_loss(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, target = call.input.shape, call.target.shape
    # Equal shapes are class probabilities: what fails then is their dtype, not their form.
    if len(scores) < 2 or target in (scores, (scores[0], *scores[2:])) or swapped(call):
        return None
    got = f"{call.text(crash)} got scores {shape_text(scores)} and targets {shape_text(target)}"
    whole = "" if call.target.dtype in ("int64", "uint8") else ".long()"
    if target == (scores[0], 1, *scores[2:]):
        fix, edit = call.change(crash, 1, f"{{}}.squeeze(1){whole}")
        message = (
            f"{got}: the targets have a dimension too many, {shape_text((scores[0], *scores[2:]))} is expected."
        )
        return _blame(crash, call, message, _CLASS_WHY, f"Drop dimension 1: {fix}.", edit)
    if target == scores[:-1]:
        move = "transpose(1, 2)" if len(scores) == 3 else "movedim(-1, 1)"
        fix, edit = call.change(crash, 0, f"{{}}.{move}")
        message = f"{got}: the {scores[-1]} classes must be in dimension 1, not in the last."
        return _blame(crash, call, message, _CLASS_WHY, f"Move the classes forward: {fix}.", edit)
    if target[:1] != scores[:1]:
        return _other_batch(crash, call, got)
    wanted = shape_text((scores[0], *scores[2:]))
    return _blame(
        crash, call, f"{got}, but for these scores the targets must be {wanted}.", _CLASS_WHY,
        f"Bring `{call.target_name}` to {wanted} before this line.", None,
    )  # fmt: skip


def _class_weights(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, weight = call.input.shape, call.weight.shape if call.weight else ()
    classes = scores[1] if len(scores) > 1 else 0
    if not classes or not weight or weight == (classes,):
        return None
    return _blame(
        crash,
        call,
        f"{call.text(crash)} got scores {shape_text(scores)} for {classes} classes but class weights "
        f"{shape_text(weight)}.",
        "The loss takes one weight for each class, and dimension 1 of the scores counts the classes.",
        f"Give the loss {classes} weights where it is made, or build the last layer for {weight[0]} classes.",
        None,
    )


def _other_batch(crash: CrashFact, call: LossCall, got: str) -> Blame:
    scores, target = call.input.shape, call.target.shape
    rows, edit = target[0] if target else 0, None
    fix: str = _rows_made(crash, scores[0], rows) or (
        f"Make `{call.input_name}` and `{call.target_name}` come from one batch; a view(-1, n) with a wrong n "
        "in forward also changes the number of rows."
    )
    if len(scores) == 3 and target == (scores[0] * scores[1],):
        change, edit = call.change(crash, 0, "{}.flatten(0, 1)")
        fix = f"Merge the first two dimensions of the scores as well: {change}."
    elif target == () and scores[0] == 1:
        change, edit = call.change(crash, 1, "{}.unsqueeze(0)")
        fix = f"Make the target a batch of one as well: {change}."
    elif len(target) == 2 and len(scores) == 2 and scores[0] == target[0] * target[1]:
        change, edit = call.change(crash, 1, "{}.flatten()")
        fix = f"Flatten the targets as well: {change}."
    counted = f"{scores[0]} row{'s' * (scores[0] != 1)} of scores cannot be compared with {rows} targets"
    message = f"{got}: {counted}." if target else f"{got}, a single number for a batch of {scores[0]}."
    return _blame(crash, call, message, _CLASS_WHY, fix, edit)


def _rows_made(crash: CrashFact, got: int, wanted: int) -> str | None:
    """The view in the model that made other rows of the samples, if the scores' graph shows one."""
    for step in crash.flow:
        before, after = (step.given[0], step.made[0]) if step.kind == "view" else ((0,), (0,))
        if before[0] == wanted and after[0] == got:
            features = math.prod(before[1:])
            return (
                f"A view in the model turned {shape_text(before)} into {shape_text(after)}, which mixes "
                f"samples. Write `x.flatten(1)` there, and build the Linear after it for {features} features."
            )
    return None


def _equal_loss(crash: CrashFact, call: LossCall) -> Blame | None:
    given, target = call.input.shape, call.target.shape
    if given == target or (call.function not in STRICT and clash(given, target) is None):
        return None
    got = f"{call.text(crash)} got an input {shape_text(given)} and a target {shape_text(target)}"
    fix, edit = (
        f"Bring the two to one shape: the model's last layers decide that of `{call.input_name}`, the data "
        f"that of `{call.target_name}`.",
        None,
    )
    cast = (
        cast_to(call.input.dtype) if call.function in STRICT and call.target.dtype != call.input.dtype else ""
    )
    added = [place for place in range(len(given)) if given == (*target[:place], 1, *target[place:])]
    dropped = [place for place in range(len(target)) if target == (*given[:place], 1, *given[place:])]
    if added:
        change, edit = call.change(crash, 1, f"{{}}.unsqueeze({_place(added, given)}){cast}")
        fix = f"Add the missing dimension to the target: {change}."
    elif (swap := _swapped_dimensions(given, target)) is not None:
        change, edit = call.change(crash, 1, f"{{}}.transpose({swap[0]}, {swap[1]}){cast}")
        fix = f"Turn two dimensions of the target: {change}."
    elif dropped:
        change, edit = call.change(crash, 1, f"{{}}.squeeze({_place(dropped, target)}){cast}")
        fix = f"Drop the extra dimension of the target: {change}."
    return _blame(crash, call, f"{got}; the two must have the same shape.", _EQUAL_WHY, fix, edit)


def _swapped_dimensions(given: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, int] | None:
    """The only two dimensions that differ, where each has the other's size."""
    if len(given) != len(target):
        return None
    places = [place for place in range(len(given)) if given[place] != target[place]]
    turned = len(places) == 2 and [given[place] for place in places] == [
        target[place] for place in places[::-1]
    ]
    return (places[0], places[1]) if turned and places[0] > 0 else None


def _place(places: list[int], shape: tuple[int, ...]) -> int:
    """-1 for the last dimension, which reads better than its number."""
    return -1 if places[-1] == len(shape) - 1 else places[-1]


def _blame(crash: CrashFact, call: LossCall, message: str, why: str, fix: str, edit: Edit | None) -> Blame:
    evidence: dict[str, float | str] = {
        call.input_name: shape_text(call.input.shape),
        call.target_name: shape_text(call.target.shape),
        "line": line_text(crash.place),
    }
    return Blame(message, why, fix, crash.place, evidence, 0.97, edit)
