"""TD955: a learning rate scheduler was built or stepped wrongly."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torch_debugger.checks.call_edits import calls_in, replace_in_line
from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, a_kind, line_text, place_text
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    argument_of,
    calls_of,
    one_line,
    parse_expression,
    rewritten,
    statement_place,
    with_argument,
    with_change,
)
from torch_debugger.records import CrashFact
from torch_debugger.records.crash_modules import ScalerRefusal, SchedulerRefusal

# A learning rate scheduler that was built or stepped wrongly.
_WHY = (
    "A scheduler changes the learning rates that an optimizer holds; it is "
    "built from the optimizer and stepped after it."
)
_LENGTHS = "T_max", "total_iters", "total_steps"


# What is wrong, why, and what to do, where nothing is to be rewritten.
_TOLD = {
    "lambdas": (
        "{kind} was given {functions} functions, and the optimizer has {groups} parameter group{of_groups}.",
        "A list of functions needs one for each parameter group; a single function serves all groups.",
        "give it {groups} function{of_groups}, or one outside of a list, at {line}",
    ),
    "stranger": (
        "{kind} was given schedulers of different optimizers: number {index}, a {given}, has another one.",
        "Schedulers that follow each other change the rates of one optimizer.",
        "build all of them, and {kind}, from the same optimizer",
    ),
    "count": (
        "{kind} was given {schedulers} schedulers and {milestones} milestones; {schedulers} schedulers change over "
        "{changes} time{of_changes}.",
        "A milestone is the epoch at which the next scheduler takes over.",
        "give it {changes} milestone{of_changes} at {line}",
    ),
    "metrics": (
        "{kind} was stepped with a {given}, where it takes one number.",
        "{kind} compares the number with the best one so far.",
        "give it the mean, `sum(losses) / len(losses)`, at {line}",
    ),
    "step size": (
        "{kind} was built with step_size = 0: the rate would fall every 0 epochs.",
        "`step_size` is the number of epochs between two reductions.",
        "give it a step_size of 1 or more at {made}",
    ),
}


def explain_scheduler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.scheduler if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.fault in _TOLD:
        changes = fact.numbers.get("schedulers", 0) - 1
        words = {
            "kind": fact.kind, "given": fact.given, "line": place_text(crash.place), **fact.numbers,
            "made": place_text(fact.place) if fact.place.file else "the line that builds it",
            "of_groups": "s" if fact.numbers.get("groups", 0) > 1 else "",
            "changes": changes, "of_changes": "s" if changes != 1 else "",
        }  # fmt: skip
        message, why, text = (form.format(**words) for form in _TOLD[fact.fault])
        change = Change(text, None, fact.place if fact.fault == "step size" else crash.place)
    elif (told := _rewritten_call(crash, fact) or _other_call(crash, fact)) is not None:
        message, change, why = told
    else:
        return None
    numbers = {name: float(number) for name, number in fact.numbers.items()}
    return with_change(crash, message, why or _WHY, change, {"line": line_text(crash.place), **numbers})


def _rewritten_call(crash: CrashFact, fact: SchedulerRefusal) -> Explanation | None:
    """An argument of the scheduler's constructor is to be written in another way."""
    match fact.fault:
        case "no optimizer":
            message = f"{fact.kind} was given {a_kind(fact.given)} where it takes the optimizer."
            position, keyword, after, why = 0, "optimizer", fact.optimizer or "optimizer", ""
        case "milestones":
            message = f"MultiStepLR was given {fact.given} as its milestones, where it takes a list of epochs."
            position, keyword, after = 1, "milestones", f"[{fact.given}]"
            why = "The learning rate is multiplied by `gamma` at each epoch of the list."
        case "factor":
            message = f"{fact.kind} was given the number {fact.given}, where it takes a function of the epoch."
            position, keyword = 1, "lr_lambda"
            after = f"lambda epoch: {fact.given}{' ** epoch' if fact.kind == 'LambdaLR' else ''}"
            why = "The function gets the number of the epoch and returns the factor for the learning rate."
        case "mode":
            message = f"{fact.kind} was given the mode {fact.given}; it knows 'min' and 'max'."
            position, keyword, after = 1, "mode", '"max"' if "acc" in fact.given else '"min"'
            why = "'min' is for a loss, which falls; 'max' is for an accuracy, which rises."
        case _:
            return None
    place = statement_place(crash)
    code = place.code or ""
    both = re.search(rf"({re.escape(fact.given)}, {fact.numbers.get('second', -1)})\b", code)
    if fact.fault == "milestones" and both:
        edit = replace_in_line(place, both[1], f"[{both[1]}]") if "\n" not in code else None
        return message, Change(f"put them into one list: `[{both[1]}]` at {place_text(place)}", edit, place), why
    calls = calls_of(code, fact.kind)
    argument = argument_of(calls[0], position, keyword) if len(calls) == 1 else None
    if argument is None:
        return message, Change(f"give it `{after}` at {place_text(place)}", None, place), why
    changed = argument.replaced(after)
    text = f"write `{changed}` instead of `{argument.call}` at {place_text(place)}"
    return message, Change(text, rewritten(place, argument.call, changed), place), why


def _other_call(crash: CrashFact, fact: SchedulerRefusal) -> Explanation | None:
    """The call of the constructor or of step() as it should be."""
    place = statement_place(crash)
    code, line = place.code or "", place_text(place)
    calls = calls_of(code, fact.kind)
    call = calls[0] if len(calls) == 1 else ""
    match fact.fault:
        case "no metric":
            owner = re.search(r"([\w.]+)\.step\(\)", code)
            name = owner[1] if owner else "scheduler"
            after = f"{name}.step({fact.given or 'val_loss'})"
            edit = replace_in_line(place, f"{name}.step()", after) if fact.given else None
            change = Change(f"give it the loss of the validation, as in `{after}`, at {line}", edit, place)
            why = f"{fact.kind} lowers the learning rate when a metric stops improving, so each step needs that metric."
            return f"`{name}.step()` was called without the number that {fact.kind} watches.", change, why
        case "missing":
            message = f"{fact.kind} was built without `{fact.given}`."
            if not call:
                return message, Change(f"give it `{fact.given}` at {line}", None, place), ""
            changed = with_argument(call, f"{fact.given}=...")
            if fact.given == "optimizer":
                changed = call.replace("(", f"({fact.optimizer or 'optimizer'}, ", 1).replace(", )", ")")
            elif fact.given in _LENGTHS and "epochs" in fact.numbers:
                changed = with_argument(call, f"{fact.given}={fact.numbers['epochs']}")
            edit = rewritten(place, call, changed) if "..." not in changed else None
            why = "`T_max` is the number of steps from the highest rate to the lowest: usually the number of epochs."
            change = Change(f"write `{changed}` at {line}", edit, place)
            return message, change, why if fact.given == "T_max" else ""
        case "last epoch":
            message = (
                f"{fact.kind} was told to go on from epoch {fact.numbers['last_epoch']}, "
                "but the optimizer is new and has no `initial_lr`."
            )
            why = "Only an optimizer whose state was loaded from a checkpoint knows the rate it started with."
            changed = re.sub(r",\s*last_epoch=[^,)]+", "", call)
            text = (
                f"leave `last_epoch` out at {line}, or load the optimizer's state_dict "
                "before; scheduler.load_state_dict sets the epoch"
            )
            return message, Change(text, rewritten(place, call, changed) if changed else None, place), why
        case "step arguments":
            message = (
                f"`step` of {fact.kind} was given {fact.numbers['given']} arguments; it counts epochs by itself and "
                "takes none."
            )
            whole = next(iter(calls_in(code)), None)
            step = ast.get_source_segment(code, whole) if whole is not None else None
            edit = replace_in_line(place, step, f"{step.partition('(')[0]}()") if step and "\n" not in step else None
            return message, Change(f"call `step()` without arguments at {line}", edit, place), ""
    return _length(crash, fact)


class SchedulerCall(CrashCheck):
    """A learning rate scheduler was built from the wrong things or stepped wrongly.

    Symptom:
        "step() missing 1 required positional argument: 'metrics'", "Tried to step 301 times. The specified
        number of total steps is 300", "Net is not an Optimizer", "Expected 2 lr_lambdas, but got 1".
    Evidence:
        The scheduler and what its frames hold: the optimizer it was given, its length, its milestones; and the
        loaders, numbers of epochs and losses your line has in reach.
    Fix:
        The call as it should be written, with the number of steps, epochs x batches, worked out.
    Known limits:
        How often a scheduler is stepped is known where a DataLoader and a number of epochs are in reach.
    """

    id = "TD955"
    name = "scheduler-call"
    title = "a learning rate scheduler was built or stepped wrongly"
    explainers = (explain_scheduler,)


# OneCycleLR and its like must know how many steps there will be: epochs x batches.
def _length(crash: CrashFact, fact: SchedulerRefusal) -> Explanation | None:
    why = f"{fact.kind} plans the whole curve in advance: its length is the number of times `step()` will be called."
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.kind)
    if fact.fault == "too many steps":
        total, batches, epochs = (fact.numbers.get(name, 0) for name in ("total_steps", "batches", "epochs"))
        message = f"{fact.kind} was built for {total} steps and was stepped once more"
        if epochs and batches and epochs * batches > total:
            message += f": {epochs} epochs x {batches} batches are {epochs * batches} steps"
            return f"{message}.", _longer(fact, epochs, batches), why
        line = place_text(fact.place if fact.place.file else crash.place)
        text = f"give it `total_steps=` the number of all steps, epochs x batches, at {line}"
        return f"{message}.", Change(text, None, fact.place), why
    if fact.fault == "no length":
        change = Change(f"give it `epochs=` and `steps_per_epoch=len(loader)` at {place_text(place)}", None, place)
        if fact.given and "epochs" in fact.numbers and len(calls) == 1:
            changed = with_argument(calls[0], f"epochs={fact.numbers['epochs']}, steps_per_epoch=len({fact.given})")
            change = Change(f"write `{changed}` at {place_text(place)}", rewritten(place, calls[0], changed), place)
        return f"{fact.kind} was not told how many steps there will be.", change, why
    if fact.fault == "whole number":
        name, _, value = fact.given.partition("=")
        argument = argument_of(calls[0], 99, name) if len(calls) == 1 else None
        change = Change(f"give a whole number for {name}", None, place)
        if argument is not None:
            node, up = parse_expression(argument.text), f"int({argument.text})"
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                # len(data) / 32 -> -(-len(data) // 32): the last batch counts too, though it is smaller.
                up = f"-(-{ast.unparse(node.left)} // {ast.unparse(node.right)})"
            after = argument.replaced(up if float(value) >= 1 else "1")
            change = Change(f"write `{after}` at {place_text(place)}", rewritten(place, argument.call, after), place)
        return f"{fact.kind} was given {name} = {value}, which is no whole number.", change, why
    return None


def _longer(fact: SchedulerRefusal, epochs: int, batches: int) -> Change:
    """total_steps=epochs -> total_steps=epochs * len(loader); or the right steps_per_epoch."""
    calls = calls_of(fact.place.code or "", fact.kind)
    loader = f"len({fact.given})" if fact.given else str(batches)
    total = argument_of(calls[0], 2, "total_steps") if len(calls) == 1 else None
    per_epoch = argument_of(calls[0], 4, "steps_per_epoch") if len(calls) == 1 else None
    argument, after = per_epoch, loader
    if total is not None:
        of_epochs = fact.numbers["total_steps"] == epochs
        argument, after = total, f"{total.text if of_epochs else epochs} * {loader}"
        if not of_epochs and not fact.given:
            after = str(epochs * batches)
    if argument is None:
        return Change(f"build it for {epochs * batches} steps at {place_text(fact.place)}", None, fact.place)
    sums = f"epochs x {loader} = {epochs} x {batches} = {epochs * batches} steps"
    # The line above that works the number out, where the call only names it.
    name = argument.text
    made = re.fullmatch(rf"{re.escape(name)} = (.+)", fact.counted.code or "")
    if made is not None and not after.startswith(f"{name} "):
        text = f"write `{name} = {after}` instead of `{made[0]}` at {place_text(fact.counted)}: {sums}"
        return Change(text, rewritten(fact.counted, made[0], f"{name} = {after}"), fact.counted)
    edit = rewritten(fact.place, calls[0], argument.replaced(after))
    line = place_text(replace(fact.place, line=edit.line) if edit is not None else fact.place)
    word = "total_steps" if total is not None else "steps_per_epoch"
    text = f"write `{word}={after}` instead of `{one_line(argument.text)}` at {line}: {sums}"
    return Change(text, edit, fact.place)


# A GradScaler whose methods were called in the wrong order, too often, or not at all.
_SCALER_WHY = (
    "One step with a GradScaler is: `scaler.scale(loss).backward()`, then `scaler.unscale_(optimizer)` if the "
    "gradients are to be looked at or clipped, `scaler.step(optimizer)`, `scaler.update()`; each of them once."
)
_WIDE = (
    "A scaler divides the gradients in place. In float16 that would undo what scaling is for: those that had "
    "been saved from becoming zero would become zero then."
)


# What is wrong and what to do, where nothing is to be rewritten.
_MISORDERED = {
    "unscaled twice": (
        "`{scaler}.unscale_({optimizer})` was called a second time since the last update.",
        "call it once a step, after the last backward pass: where gradients are accumulated, outside of "
        "the inner loop, with `{scaler}.update()` at the end of each step",
    ),
    "unscaled after step": (
        "`{scaler}.unscale_({optimizer})` was called after `{scaler}.step({optimizer})`.",
        "move it up, in front of `{scaler}.step({optimizer})`; a clip belongs between the two",
    ),
    "not updated": (
        "`{scaler}.step({optimizer})` was called a second time without `{scaler}.update()`.",
        "call `{scaler}.update()` once at the end of every step, also where a step ends early",
    ),
    "half gradients": (
        "`{scaler}` cannot unscale the gradients of `{optimizer}`: they are float16.",
        "keep the weights in float32 (no `model.half()`, no `model.to(torch.float16)`) and run the forward "
        "pass under `torch.autocast(device, dtype=torch.float16)`, which casts them for each operation",
    ),
    "no gradients": (
        "`{scaler}.step({optimizer})` found no gradient in any parameter of `{optimizer}`.",
        "call `{scaler}.scale(loss).backward()` before it, `zero_grad()` not in between, and make "
        "`{optimizer}` from the parameters of the model that the loss comes from",
    ),
    "nothing scaled": ("`{scaler}.{method}` was called, but `{scaler}` has not scaled any loss.", ""),
    "not stepped": (
        "`{scaler}.update()` was called, but no optimizer has stepped through `{scaler}`.",
        "call `{scaler}.step(optimizer)` before it, in every step",
    ),
}


def explain_scaler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.scaler if crash.evidence.building is not None else None
    if fact is None or fact.fault not in _MISORDERED:
        return None
    words = {"scaler": fact.scaler, "optimizer": fact.optimizer, "method": fact.method}
    message, text = (form.format(**words) for form in _MISORDERED[fact.fault])
    change = _scaler_call(crash, fact) or Change(text, None, statement_place(crash))
    why = _WIDE if fact.fault == "half gradients" else _SCALER_WHY
    called = f"{fact.scaler}.{fact.method}"
    return with_change(crash, message, why, change, {"line": line_text(crash.place), "called": called})


def _scaler_call(crash: CrashFact, fact: ScalerRefusal) -> Change | None:
    """What depends on the line that was found: the call that is to be added, moved or rewritten there."""
    place, line, code = statement_place(crash), place_text(fact.place), fact.place.code or ""
    match fact.fault:
        case "nothing scaled":
            loss = re.search(r"([\w.]+)\.backward\(", code)
            name = loss[1] if loss else "loss"
            after = f"{fact.scaler}.scale({name}).backward("
            where = fact.place if fact.place.file else place
            edit = replace_in_line(where, f"{name}.backward(", after) if loss else None
            text = f"write `{after})`" + (f" at {line}" if fact.place.file else " instead of `loss.backward()`")
            return Change(text, edit, where)
        case "unscaled twice" if fact.place.file:
            text = f"call it once a step, after the last backward pass: keep the one at {line} and drop this one"
            return Change(text, None, place)
        case "not updated" if not fact.updated:
            owner = re.match(r"(\s*[\w.]+\.)step\(", place.code or "")
            edit = replace_in_line(place, place.code or "", f"{place.code}\n{owner[1]}update()") if owner else None
            return Change(f"write `{fact.scaler}.update()` after the line that steps, {place_text(place)}", edit, place)
        case "not stepped" if (step := re.search(r"([\w.]+)\.step\(\)", code)) is not None:
            after = f"{fact.scaler}.step({step[1]})"
            text = f"write `{after}` instead of `{step[0]}` at {line}"
            return Change(text, replace_in_line(fact.place, step[0], after), fact.place)
    return None


class GradScalerCall(CrashCheck):
    """The methods of a GradScaler were called in the wrong order, twice, or on gradients it cannot take.

    Symptom:
        "unscale_() has already been called on this optimizer since the last update()", "step() has already been
        called since the last update()", "No inf checks were recorded prior to update", "Attempting to unscale
        FP16 gradients".
    Evidence:
        The scaler's own bookkeeping at the crash: whether it has scaled a loss, unscaled and stepped this
        optimizer; the dtype of its gradients; and the lines of your file that call it.
    Fix:
        The call to add, to move or to leave out.
    Known limits:
        The line to edit is named where your file has only one that it can be.
    """

    id = "TD966"
    name = "grad-scaler-call"
    title = "GradScaler was called in the wrong order"
    explainers = (explain_scaler,)
