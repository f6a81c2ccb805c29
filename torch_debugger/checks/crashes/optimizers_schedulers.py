"""TD955: a learning rate scheduler was built or stepped wrongly."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, a_kind, as_sentence, line_text, place_text
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    argument_of,
    calls_of,
    edited_place,
    line_edit,
    one_line,
    parse_expression,
    rewritten,
    statement_place,
    with_argument,
)
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.crash_modules import ScalerRefusal, SchedulerRefusal

# A learning rate scheduler that was built or stepped wrongly.
_WHY = (
    "A scheduler changes the learning rates that an optimizer holds; it is "
    "built from the optimizer and stepped after it."
)
_LENGTHS = "T_max", "total_iters", "total_steps"


def explain_scheduler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.scheduler if crash.evidence.building is not None else None
    if fact is None:
        return None
    explain = {
        "no metric": _no_metric, "no optimizer": _no_optimizer, "missing": _missing, "milestones": _milestones,
        "lambdas": _lambdas, "factor": _factor, "stranger": _stranger, "count": _count, "last epoch": _last_epoch,
        "step arguments": _step_arguments, "metrics": _metrics, "mode": _mode, "step size": _step_size,
        "too many steps": _too_many, "no length": _no_length, "whole number": _whole_number,
    }.get(fact.fault)  # fmt: skip
    told = explain(crash, fact) if explain is not None else None
    if told is None:
        return None
    message, why, change = told
    where = edited_place(crash, change)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    evidence |= {name: float(number) for name, number in fact.numbers.items()}
    return Blame(message, why or _WHY, as_sentence(change.text), where, evidence, 0.97, change.edit)


SchedulerExplanation = tuple[str, str, Change]


def _rewrite(crash: CrashFact, kind: str, position: int, keyword: str, after: str) -> Change:
    """Write an argument of the scheduler's constructor in another way."""
    place = statement_place(crash)
    calls = calls_of(place.code or "", kind)
    argument = argument_of(calls[0], position, keyword) if len(calls) == 1 else None
    if argument is None:
        return Change(f"give it `{after}` at {place_text(place)}", None, place)
    changed = argument.replaced(after)
    text = f"write `{changed}` instead of `{argument.call}` at {place_text(place)}"
    return Change(text, rewritten(place, argument.call, changed), place)


def _no_metric(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    place = statement_place(crash)
    owner = re.search(r"([\w.]+)\.step\(\)", place.code or "")
    name = owner[1] if owner else "scheduler"
    message = f"`{name}.step()` was called without the number that {fact.kind} watches."
    why = f"{fact.kind} lowers the learning rate when a metric stops improving, so each step needs that metric."
    after = f"{name}.step({fact.given or 'val_loss'})"
    edit = line_edit(place, f"{name}.step()", after) if fact.given else None
    return (
        message,
        why,
        Change(f"give it the loss of the validation, as in `{after}`, at {place_text(place)}", edit, place),
    )


def _no_optimizer(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"{fact.kind} was given {a_kind(fact.given)} where it takes the optimizer."
    return message, "", _rewrite(crash, fact.kind, 0, "optimizer", fact.optimizer or "optimizer")


def _missing(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"{fact.kind} was built without `{fact.given}`."
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.kind)
    if len(calls) != 1:
        return message, "", Change(f"give it `{fact.given}` at {place_text(place)}", None, place)
    if fact.given == "optimizer":
        name = fact.optimizer or "optimizer"
        changed = calls[0].replace("(", f"({name}, ", 1).replace(", )", ")")
    elif fact.given in _LENGTHS and "epochs" in fact.numbers:
        changed = with_argument(calls[0], f"{fact.given}={fact.numbers['epochs']}")
    else:
        changed = with_argument(calls[0], f"{fact.given}=...")
    edit = rewritten(place, calls[0], changed) if "..." not in changed else None
    why = "`T_max` is the number of steps from the highest rate to the lowest: usually the number of epochs."
    return (
        message,
        why if fact.given == "T_max" else "",
        Change(f"write `{changed}` at {place_text(place)}", edit, place),
    )


def _milestones(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"MultiStepLR was given {fact.given} as its milestones, where it takes a list of epochs."
    why = "The learning rate is multiplied by `gamma` at each epoch of the list."
    place = statement_place(crash)
    both = re.search(rf"({re.escape(fact.given)}, {fact.numbers.get('second', -1)})\b", place.code or "")
    if both:
        edit = line_edit(place, both[1], f"[{both[1]}]") if "\n" not in (place.code or "") else None
        return message, why, Change(f"put them into one list: `[{both[1]}]` at {place_text(place)}", edit, place)
    return message, why, _rewrite(crash, fact.kind, 1, "milestones", f"[{fact.given}]")


def _lambdas(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    functions, groups = fact.numbers["functions"], fact.numbers["groups"]
    message = (
        f"{fact.kind} was given {functions} functions, and the optimizer has {groups} "
        f"parameter group{'s' if groups > 1 else ''}."
    )
    why = "A list of functions needs one for each parameter group; a single function serves all groups."
    text = (
        f"give it {groups} function{'s' if groups > 1 else ''}, or one outside of a list, at {place_text(crash.place)}"
    )
    return message, why, Change(text, None, crash.place)


def _factor(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"{fact.kind} was given the number {fact.given}, where it takes a function of the epoch."
    after = f"lambda epoch: {fact.given}{' ** epoch' if fact.kind == 'LambdaLR' else ''}"
    why = "The function gets the number of the epoch and returns the factor for the learning rate."
    return message, why, _rewrite(crash, fact.kind, 1, "lr_lambda", after)


def _stranger(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = (
        f"{fact.kind} was given schedulers of different optimizers: number "
        f"{fact.numbers['index']}, a {fact.given}, has another one."
    )
    why = "Schedulers that follow each other change the rates of one optimizer."
    text = f"build all of them, and {fact.kind}, from the same optimizer"
    return message, why, Change(text, None, crash.place)


def _count(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    many, points = fact.numbers["schedulers"], fact.numbers["milestones"]
    message = (
        f"{fact.kind} was given {many} schedulers and {points} milestones; {many} schedulers "
        f"change over {many - 1} time{'s' if many != 2 else ''}."
    )
    why = "A milestone is the epoch at which the next scheduler takes over."
    return (
        message,
        why,
        Change(
            f"give it {many - 1} milestone{'s' if many != 2 else ''} at {place_text(crash.place)}", None, crash.place
        ),
    )


def _last_epoch(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = (
        f"{fact.kind} was told to go on from epoch {fact.numbers['last_epoch']}, "
        "but the optimizer is new and has no `initial_lr`."
    )
    why = "Only an optimizer whose state was loaded from a checkpoint knows the rate it started with."
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.kind)
    changed = re.sub(r",\s*last_epoch=[^,)]+", "", calls[0]) if len(calls) == 1 else ""
    edit = rewritten(place, calls[0], changed) if changed else None
    text = (
        f"leave `last_epoch` out at {place_text(place)}, or load the optimizer's state_dict "
        "before; scheduler.load_state_dict sets the epoch"
    )
    return message, why, Change(text, edit, place)


def _step_arguments(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = (
        f"`step` of {fact.kind} was given {fact.numbers['given']} arguments; it counts epochs by itself and takes none."
    )
    place = statement_place(crash)
    call = next((node for node in ast.walk(_tree(place)) if isinstance(node, ast.Call)), None)
    text = ast.get_source_segment(place.code or "", call) if call is not None else None
    edit = line_edit(place, text, f"{text.partition('(')[0]}()") if text and "\n" not in text else None
    return message, "", Change(f"call `step()` without arguments at {place_text(place)}", edit, place)


def _tree(place: Place) -> ast.AST:
    try:
        return ast.parse(place.code or "")
    except SyntaxError:
        return ast.Module([], [])


def _metrics(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"{fact.kind} was stepped with a {fact.given}, where it takes one number."
    why = f"{fact.kind} compares the number with the best one so far."
    text = f"give it the mean, `sum(losses) / len(losses)`, at {place_text(crash.place)}"
    return message, why, Change(text, None, crash.place)


def _mode(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"{fact.kind} was given the mode {fact.given}; it knows 'min' and 'max'."
    why = "'min' is for a loss, which falls; 'max' is for an accuracy, which rises."
    better = '"max"' if "acc" in fact.given else '"min"'
    return message, why, _rewrite(crash, fact.kind, 1, "mode", better)


def _step_size(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    message = f"{fact.kind} was built with step_size = 0: the rate would fall every 0 epochs."
    line = place_text(fact.place) if fact.place.file else "the line that builds it"
    return (
        message,
        "`step_size` is the number of epochs between two reductions.",
        Change(f"give it a step_size of 1 or more at {line}", None, fact.place),
    )


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


def _length_why(fact: SchedulerRefusal) -> str:
    return f"{fact.kind} plans the whole curve in advance: its length is the number of times `step()` will be called."


def _too_many(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    total, batches, epochs = (fact.numbers.get(name, 0) for name in ("total_steps", "batches", "epochs"))
    message = f"{fact.kind} was built for {total} steps and was stepped once more"
    if epochs and batches and epochs * batches > total:
        message += f": {epochs} epochs x {batches} batches are {epochs * batches} steps"
        return f"{message}.", _length_why(fact), _longer(fact, epochs, batches)
    line = place_text(fact.place if fact.place.file else crash.place)
    text = f"give it `total_steps=` the number of all steps, epochs x batches, at {line}"
    return f"{message}.", _length_why(fact), Change(text, None, fact.place)


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
    counted = _counted(fact, argument.text, after, sums)
    if counted is not None:
        return counted
    edit = rewritten(fact.place, calls[0], argument.replaced(after))
    line = place_text(replace(fact.place, line=edit.line) if edit is not None else fact.place)
    word = "total_steps" if total is not None else "steps_per_epoch"
    text = f"write `{word}={after}` instead of `{one_line(argument.text)}` at {line}: {sums}"
    return Change(text, edit, fact.place)


def _counted(fact: SchedulerRefusal, name: str, after: str, sums: str) -> Change | None:
    """The line above that works the number out, where the call only names it."""
    made = re.fullmatch(rf"{re.escape(name)} = (.+)", fact.counted.code or "")
    if made is None or after.startswith(f"{name} "):
        return None
    text = f"write `{name} = {after}` instead of `{made[0]}` at {place_text(fact.counted)}: {sums}"
    return Change(text, rewritten(fact.counted, made[0], f"{name} = {after}"), fact.counted)


def _no_length(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.kind)
    message = f"{fact.kind} was not told how many steps there will be."
    change = Change(f"give it `epochs=` and `steps_per_epoch=len(loader)` at {place_text(place)}", None, place)
    if fact.given and "epochs" in fact.numbers and len(calls) == 1:
        changed = with_argument(calls[0], f"epochs={fact.numbers['epochs']}, steps_per_epoch=len({fact.given})")
        change = Change(f"write `{changed}` at {place_text(place)}", rewritten(place, calls[0], changed), place)
    return message, _length_why(fact), change


def _whole_number(crash: CrashFact, fact: SchedulerRefusal) -> SchedulerExplanation:
    name, _, value = fact.given.partition("=")
    place = statement_place(crash)
    message = f"{fact.kind} was given {name} = {value}, which is no whole number."
    calls = calls_of(place.code or "", fact.kind)
    argument = argument_of(calls[0], 99, name) if len(calls) == 1 else None
    change = Change(f"give a whole number for {name}", None, place)
    if argument is not None:
        after = argument.replaced(_rounded_up(argument.text) if float(value) >= 1 else "1")
        change = Change(f"write `{after}` at {place_text(place)}", rewritten(place, argument.call, after), place)
    return message, _length_why(fact), change


def _rounded_up(text: str) -> str:
    """len(data) / 32 -> -(-len(data) // 32): the last batch counts too, though it is smaller."""
    node = parse_expression(text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"-(-{ast.unparse(node.left)} // {ast.unparse(node.right)})"
    return f"int({text})"


# A GradScaler whose methods were called in the wrong order, too often, or not at all.
_SCALER_WHY = (
    "One step with a GradScaler is: `scaler.scale(loss).backward()`, then `scaler.unscale_(optimizer)` if the "
    "gradients are to be looked at or clipped, `scaler.step(optimizer)`, `scaler.update()`; each of them once."
)
_WIDE = (
    "A scaler divides the gradients in place. In float16 that would undo what scaling is for: those that had "
    "been saved from becoming zero would become zero then."
)


def explain_scaler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.scaler if crash.evidence.building is not None else None
    if fact is None or fact.fault not in _FAULTS:
        return None
    message, change, why = _FAULTS[fact.fault](crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(crash.place), "called": f"{fact.scaler}.{fact.method}"}
    where = edited_place(crash, change)
    return Blame(message, why or _SCALER_WHY, as_sentence(change.text), where, evidence, 0.97, change.edit)


def _nothing_scaled(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    message = f"`{fact.scaler}.{fact.method}` was called, but `{fact.scaler}` has not scaled any loss."
    loss = re.search(r"([\w.]+)\.backward\(", fact.place.code or "")
    name = loss[1] if loss else "loss"
    after = f"{fact.scaler}.scale({name}).backward("
    where = fact.place if fact.place.file else statement_place(crash)
    edit = line_edit(where, f"{name}.backward(", after) if loss else None
    written = f"write `{after})`" + (f" at {place_text(where)}" if fact.place.file else " instead of `loss.backward()`")
    return message, Change(written, edit, where), ""


def _unscaled_twice(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    before = f" at {place_text(fact.place)}" if fact.place.file else ""
    message = f"`{fact.scaler}.unscale_({fact.optimizer})` was called a second time since the last update."
    text = f"call it once a step, after the last backward pass: keep the one{before} and drop this one"
    if not before:
        text = (
            "call it once a step, after the last backward pass: where gradients are accumulated, outside of "
            f"the inner loop, with `{fact.scaler}.update()` at the end of each step"
        )
    return message, Change(text, None, statement_place(crash)), ""


def _unscaled_after_step(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    message = f"`{fact.scaler}.unscale_({fact.optimizer})` was called after `{fact.scaler}.step({fact.optimizer})`."
    text = f"move it up, in front of `{fact.scaler}.step({fact.optimizer})`; a clip belongs between the two"
    return message, Change(text, None, statement_place(crash)), ""


def _not_updated(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    place = statement_place(crash)
    message = f"`{fact.scaler}.step({fact.optimizer})` was called a second time without `{fact.scaler}.update()`."
    if fact.updated:
        text = f"call `{fact.scaler}.update()` once at the end of every step, also where a step ends early"
        return message, Change(text, None, place), ""
    code = place.code or ""
    owner = re.match(r"(\s*[\w.]+\.)step\(", code)
    edit = line_edit(place, code, f"{code}\n{owner[1]}update()") if owner else None
    text = f"write `{fact.scaler}.update()` after the line that steps, {place_text(place)}"
    return message, Change(text, edit, place), ""


def _half_gradients(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    message = f"`{fact.scaler}` cannot unscale the gradients of `{fact.optimizer}`: they are float16."
    text = (
        "keep the weights in float32 (no `model.half()`, no `model.to(torch.float16)`) and run the forward "
        "pass under `torch.autocast(device, dtype=torch.float16)`, which casts them for each operation"
    )
    return message, Change(text, None, statement_place(crash)), _WIDE


def _no_gradients(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    message = f"`{fact.scaler}.step({fact.optimizer})` found no gradient in any parameter of `{fact.optimizer}`."
    text = (
        f"call `{fact.scaler}.scale(loss).backward()` before it, `zero_grad()` not in between, and make "
        f"`{fact.optimizer}` from the parameters of the model that the loss comes from"
    )
    return message, Change(text, None, statement_place(crash)), ""


def _not_stepped(crash: CrashFact, fact: ScalerRefusal) -> Explanation:
    message = f"`{fact.scaler}.update()` was called, but no optimizer has stepped through `{fact.scaler}`."
    step = re.search(r"([\w.]+)\.step\(\)", fact.place.code or "")
    if step is None:
        text = f"call `{fact.scaler}.step(optimizer)` before it, in every step"
        return message, Change(text, None, statement_place(crash)), ""
    after = f"{fact.scaler}.step({step[1]})"
    text = f"write `{after}` instead of `{step[0]}` at {place_text(fact.place)}"
    return message, Change(text, line_edit(fact.place, step[0], after), fact.place), ""


_FAULTS: dict[str, Callable[[CrashFact, ScalerRefusal], Explanation]] = {
    "nothing scaled": _nothing_scaled,
    "unscaled twice": _unscaled_twice,
    "unscaled after step": _unscaled_after_step,
    "not updated": _not_updated,
    "half gradients": _half_gradients,
    "no gradients": _no_gradients,
    "not stepped": _not_stepped,
}


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
