"""A loss whose target has the wrong dtype."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, shape_text
from torch_debugger.checks.explainers.calls import argument_of, one_line, rewritten
from torch_debugger.checks.explainers.dtypes.casts import cast_to, is_floating, is_whole, numpy_hint
from torch_debugger.checks.explainers.losses import CLASS_LOSSES, STRICT, LossCall, loss_call, swapped
from torch_debugger.checks.explainers.statements import statement_at, written_call
from torch_debugger.records import CrashFact

_NOWHERE = 99  # no position: by keyword only


def explain_loss_dtypes(crash: CrashFact) -> Blame | None:
    call = loss_call(crash) if crash.kind in ("RuntimeError", "NotImplementedError") else None
    if call is None:
        return None
    if call.function in CLASS_LOSSES:
        return (
            _swapped(crash, call)
            or _class_numbers(crash, call)
            or _one_hot(crash, call)
            or _class_weights(crash, call)
        )
    return _equal_dtypes(crash, call) if call.function in STRICT else None


def _swapped(crash: CrashFact, call: LossCall) -> Blame | None:
    if not swapped(call):
        return None
    statement = statement_at(crash, crash.place)
    written = written_call(statement.whole.code or "", call.unparsed) or ""
    first, second = argument_of(written, 0, "input"), argument_of(written, 1, "target")
    changed = second.replaced(first.text) if first and second else ""
    changed = changed[: first.start] + second.text + changed[first.end :] if first and second else ""
    fix = f"write `{one_line(changed)}`" if changed else "give it the scores first, then the targets"
    return Blame(
        message=f"{call.text(crash)} got {call.input.dtype} {shape_text(call.input.shape)} as scores and "
        f"{call.target.dtype} {shape_text(call.target.shape)} as targets: the two are swapped.",
        why="This loss takes the scores first and the class numbers second.",
        fix=f"Swap the two: {fix}.",
        where=crash.place,
        evidence=_evidence(crash, call),
        confidence=0.96,
        edit=rewritten(statement.whole, written, changed) if changed else None,
    )


def _class_weights(crash: CrashFact, call: LossCall) -> Blame | None:
    weight = call.weight
    if weight is None or weight.dtype == call.input.dtype or "type" not in crash.message:
        return None
    cast = cast_to(call.input.dtype)
    argument = argument_of(call.call or "", _NOWHERE, "weight")
    change = statement_at(crash, crash.place).change([call.function], f"{{}}{cast}", _NOWHERE, "weight")
    where = f"append `{cast}` to them where the loss is made"
    return Blame(
        message=f"{call.text(crash)} got {weight.dtype} class weights for {call.input.dtype} scores; the two "
        "must be the same.",
        why=f"The loss multiplies the two without converting them{numpy_hint(weight.dtype)}.",
        fix=f"Convert the weights: {change.text if argument else where}.",
        where=crash.place,
        evidence=_evidence(crash, call) | {"weight": weight.dtype},
        confidence=0.96,
        edit=change.edit if argument else None,
    )


def _class_numbers(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, target = call.input.shape, call.target
    fits = target.shape == (scores[:1] + scores[2:] if len(scores) > 1 else ())
    if fits and len(scores) == 2 and scores[1] == 1 and is_floating(target.dtype):
        return _one_score(crash, call)
    if not fits or target.dtype in ("int64", "uint8"):
        return None
    what = f"got {target.dtype} targets {shape_text(target.shape)}; class numbers must be int64"
    return _blame(crash, call, what, "Targets in this form are class numbers, which index the scores.", "int64")


def _one_score(crash: CrashFact, call: LossCall) -> Blame:
    """Floating targets and one score a sample: what the binary losses take."""
    return Blame(
        message=f"{call.text(crash)} got scores {shape_text(call.input.shape)}, one for each sample, and "
        f"{call.target.dtype} targets {shape_text(call.target.shape)}.",
        why="Cross-entropy picks one of several classes by an int64 number; one score leaves none to pick.",
        fix="For two classes use nn.BCEWithLogitsLoss, with the scores squeezed to the targets' shape, "
        "`.squeeze(1)`; or build the last layer for one score a class and convert the targets with `.long()`.",
        where=crash.place,
        evidence=_evidence(crash, call),
        confidence=0.92,
    )


def _one_hot(crash: CrashFact, call: LossCall) -> Blame | None:
    target = call.target
    if call.input.shape != target.shape or not is_whole(target.dtype) or not is_floating(call.input.dtype):
        return None
    what = f"got {target.dtype} targets {shape_text(target.shape)}; in this form they must be floating"
    why = "Targets with the shape of the scores are taken for class probabilities, one-hot rows included."
    return _blame(crash, call, what, why, call.input.dtype)


def _equal_dtypes(crash: CrashFact, call: LossCall) -> Blame | None:
    if call.input.shape != call.target.shape or call.input.dtype == call.target.dtype:
        return None
    what = f"got {call.target.dtype} targets for a {call.input.dtype} input; the two must be the same"
    why = "This loss computes with the target's numbers, so it needs them in the dtype of the input."
    return _blame(crash, call, what, why, call.input.dtype)


def _blame(crash: CrashFact, call: LossCall, what: str, why: str, wanted: str) -> Blame:
    fix, edit = call.change(crash, 1, f"{{}}{cast_to(wanted)}")
    return Blame(
        message=f"{call.text(crash)} {what}.",
        why=why,
        fix=f"Convert the target: {fix}.",
        where=crash.place,
        evidence=_evidence(crash, call),
        confidence=0.97,
        edit=edit,
    )


def _evidence(crash: CrashFact, call: LossCall) -> dict[str, float | str]:
    return {
        call.input_name: call.input.dtype,
        call.target_name: call.target.dtype,
        "line": line_text(crash.place),
    }
