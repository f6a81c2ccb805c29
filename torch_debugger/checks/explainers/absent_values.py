"""None where a tensor was meant: which expression, and why it has no value."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence import AbsentValue


def explain_absent_value(crash: CrashFact) -> Blame | None:
    held = crash.evidence.absent
    if held is None:
        return None
    updates = crash.evidence.autograd
    if held.form == "grad" and updates is not None and updates.rebound:
        return None  # an update put another tensor in its place: loss-without-graph says so
    tellers = {
        "grad": _of_gradient,
        "hook": _of_hook,
        "attribute": _of_attribute,
        "call": _of_call,
        "argument": _of_argument,
    }
    told, why, fix = tellers[held.form](held)
    evidence: dict[str, float | str] = {"is None": held.expression}
    evidence |= {"parameter": held.parameter} if held.parameter else {}
    evidence |= {"also without": ", ".join(held.others)} if held.others else {}
    evidence |= {"cause": line_text(held.cause)} if held.cause.file else {}
    return Blame(
        message=f"`{held.expression}` is None at {place_text(held.place)}: {told}.",
        why=why,
        fix=fix,
        where=held.place,
        evidence=evidence | {"line": line_text(held.place)},
        confidence=0.93,
    )


def _of_gradient(held: AbsentValue) -> tuple[str, str, str]:
    name = f"`{held.parameter}`" if held.parameter else f"`{held.tensor}`"
    skip = (
        "Where parameters without a gradient are to be expected, ask first: `if "
        f"{held.expression} is not None:`."
    )
    if held.reason == "not-a-leaf":
        return (
            f"{name} is the result of an op, and backward keeps gradients of leaves only",
            "Gradients of tensors in the middle of the graph are dropped once they have been passed on.",
            f"Call `{held.tensor}.retain_grad()` before the backward.",
        )
    if held.reason == "not-recorded":
        return (
            f"{name} does not require a gradient, so backward computes none for it",
            "Data has no `requires_grad` unless it is asked for.",
            f"Write `{held.tensor}.requires_grad_()` before the forward whose gradient is wanted.",
        )
    if held.reason == "frozen":
        by = f" (frozen at {line_text(held.cause)})" if held.cause.file else ""
        return (
            f"{name} has requires_grad=False{by}",
            "A frozen parameter gets no gradient, and its `.grad` stays None.",
            f"Leave frozen parameters out: `if {held.tensor}.requires_grad:`. If it is to be "
            "trained, unfreeze it before "
            "the optimizer is made.",
        )
    if held.reason == "cleared":
        return (
            f"the gradients were cleared at {place_text(held.cause)}, after the backward",
            "`zero_grad()` sets gradients to None since torch 2.0 (`set_to_none=True`).",
            "Read the gradients between `backward()` and `zero_grad()`: move this line above "
            f"{place_text(held.cause)}.",
        )
    if held.reason == "unused":
        return _unused(held, name, skip)
    return (
        "no backward has run "
        f"yet{f': none of the {held.count} parameters has a gradient' if held.count else ''}",
        "`.grad` is None until the first `backward()`, and again after each "
        "`zero_grad()`. In a hook of a tensor or "
        "module it is filled only after the hook has returned.",
        "Read the gradients after `loss.backward()` and before `zero_grad()`; in a hook "
        "use the gradient that is handed in.",
    )


def _unused(held: AbsentValue, name: str, skip: str) -> tuple[str, str, str]:
    owner = held.parameter.rpartition(".")[0] or held.parameter
    if not held.parameter:
        return (
            f"the loss does not depend on {name}",
            "A backward has run, and its graph does not lead to this tensor.",
            f"Compute the loss from {name} itself, not from a copy or a `.detach()`ed one. {skip}",
        )
    more = f", as {len(held.others)} more have none" if held.others else ""
    never = "" if held.mentioned else f" (`forward` never uses `{held.parameter.split('.')[1]}`)"
    return (
        f"{name} is no part of what the loss was computed from{never}",
        "Other parameters of the model have gradients, so a backward has run; its graph "
        f"does not lead to `{owner}`{more}.",
        f"Use `{owner}` in the forward, or take it out of the model. {skip}",
    )


def _of_hook(held: AbsentValue) -> tuple[str, str, str]:
    return (
        "the input of this module needs no gradient, so none was computed for it",
        "A backward hook is given one gradient for each input of the module, and None "
        "for those that require none: the "
        "first layer gets data.",
        f"Ask first: `if {held.expression} is not None:`. The gradient of the module's "
        "output is there in any case "
        "(`grad_output`).",
    )


def _of_attribute(held: AbsentValue) -> tuple[str, str, str]:
    setter = held.setters[0] if held.setters else None
    by = f", and {line_text(setter)} has not run since" if setter is not None else ""
    advice = (
        f"Find out why {place_text(setter)} has not run: a hook must be registered before "
        "the forward or backward that it "
        "is to see, on a module that takes part in it, and gradients flow only after `backward()`."
        if setter is not None
        else "Nothing in its class gives it another value: assign it before this line."
    )
    return (
        f"it has been so since {place_text(held.cause)}{by}",
        "The attribute still has the value it was made with.",
        advice,
    )


def _of_call(held: AbsentValue) -> tuple[str, str, str]:
    return (
        f"`.{held.cause_text}()` at {place_text(held.cause)} returns nothing",
        f"`.{held.cause_text}()` does its work on the object and returns None.",
        f"Call it on a line of its own and keep what stood before it ({place_text(held.cause)}).",
    )


def _of_argument(held: AbsentValue) -> tuple[str, str, str]:
    by = f" ({line_text(held.cause)})" if held.cause.file else ""
    asked = "ask `ctx.needs_input_grad` before its gradient is computed."
    also = (
        f" `backward` then returns None for `{held.expression}`: {asked}" if held.reason == "backward" else ""
    )
    choice = f"`{held.cause_text} if {held.expression} is not None else {held.tensor}`"
    return (
        f"nothing was passed for it{by}, and `{held.cause_text}` needs it",
        "A tensor and None have no arithmetic.",
        f"Where `{held.expression}` is optional, leave it out: {choice}.{also} Else pass a tensor for it.",
    )
