"""A loss whose target has the wrong dtype."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, shape_text
from torch_debugger.checks.explainers.casts import cast_to, is_floating, is_whole
from torch_debugger.checks.explainers.losses import CLASS_LOSSES, LossCall, loss_call
from torch_debugger.records import CrashFact

_STRICT = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


def explain_loss_dtypes(crash: CrashFact) -> Blame | None:
    call = loss_call(crash) if crash.kind == "RuntimeError" else None
    if call is None:
        return None
    if call.function in CLASS_LOSSES:
        return _class_numbers(crash, call) or _one_hot(crash, call)
    return _equal_dtypes(crash, call) if call.function in _STRICT else None


def _class_numbers(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, target = call.input.shape, call.target
    fits = target.shape == (scores[:1] + scores[2:] if len(scores) > 1 else ())
    if not fits or target.dtype in ("int64", "uint8"):
        return None
    what = f"got {target.dtype} targets {shape_text(target.shape)}; class numbers must be int64"
    return _blame(crash, call, what, "Targets in this form are class numbers, which index the scores.", "int64")


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
        evidence={
            call.input_name: call.input.dtype,
            call.target_name: call.target.dtype,
            "line": line_text(crash.place),
        },
        confidence=0.97,
        edit=edit,
    )
