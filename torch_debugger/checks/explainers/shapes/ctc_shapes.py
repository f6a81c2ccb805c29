"""CTC loss: log-probabilities [time, batch, classes], and the lengths that go with them."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text
from torch_debugger.checks.explainers.statements import statement_at
from torch_debugger.records import CrashFact, Edit, LocalTensor

_WHY = (
    "CTC takes log-probabilities [time, batch, classes], and for each sample how many steps and symbols it has"
)


def explain_ctc(crash: CrashFact) -> Blame | None:
    inner = crash.frames[-1] if crash.frames else None
    if inner is None or inner.user or inner.function != "ctc_loss" or crash.kind != "RuntimeError":
        return None
    held = {tensor.name: tensor for tensor in inner.tensors}
    scores, steps, symbols = (held.get(name) for name in ("log_probs", "input_lengths", "target_lengths"))
    if scores is None or len(scores.shape) != 3:
        return None
    return _turned(crash, scores, steps) or _too_long(crash, scores, steps) or _too_many(crash, held, symbols)


def _turned(crash: CrashFact, scores: LocalTensor, steps: LocalTensor | None) -> Blame | None:
    time, batch = scores.shape[:2]
    if steps is None or steps.shape != (time,) or time == batch:
        return None
    names = [*((crash.layer.path or "").split(".")[-1:] if crash.layer else ()), "ctc_loss"]
    change = statement_at(crash, crash.place).change(names, "{}.transpose(0, 1)", 0, "log_probs")
    message = (
        f"the log-probabilities are {shape_text(scores.shape)}, so a batch of {batch}, but there are "
        f"{time} input lengths: the batch is in dimension 0"
    )
    return _blame(crash, scores, message, f"Put the time first: {change.text}.", change.edit)


def _too_long(crash: CrashFact, scores: LocalTensor, steps: LocalTensor | None) -> Blame | None:
    if steps is None or steps.highest is None or steps.highest <= scores.shape[0]:
        return None
    message = (
        f"the input lengths go up to {steps.highest}, but the log-probabilities {shape_text(scores.shape)} "
        f"have {scores.shape[0]} steps"
    )
    fix = (
        f"Give the lengths that come out of the model, at most {scores.shape[0]}: strides and poolings before "
        "the loss shorten a sequence."
    )
    return _blame(crash, scores, message, fix, None)


def _too_many(crash: CrashFact, held: dict[str, LocalTensor], symbols: LocalTensor | None) -> Blame | None:
    targets = held.get("targets")
    if targets is None or symbols is None or symbols.highest is None or len(targets.shape) != 2:
        return None
    if symbols.highest <= targets.shape[1]:
        return None
    message = f"the target lengths go up to {symbols.highest}, but the targets are {shape_text(targets.shape)}"
    fix = f"Give target lengths of at most {targets.shape[1]}, or pad the targets to {symbols.highest} columns."
    return _blame(crash, held["log_probs"], message, fix, None)


def _blame(crash: CrashFact, scores: LocalTensor, what: str, fix: str, edit: Edit | None) -> Blame:
    return Blame(
        message=f"The CTC loss at {place_text(crash.place)} cannot use what it got: {what}.",
        why=f"{_WHY}.",
        fix=fix,
        where=crash.place,
        evidence={"log_probs": shape_text(scores.shape), "line": line_text(crash.place)},
        confidence=0.96,
        edit=edit,
    )
