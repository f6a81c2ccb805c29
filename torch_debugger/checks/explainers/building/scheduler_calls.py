"""A learning rate scheduler that was built or stepped wrongly."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.building.cycle_lengths import explain_cycle_length
from torch_debugger.checks.explainers.calls import argument_of, calls_of, rewritten, with_argument
from torch_debugger.checks.explainers.respelling import edited_place, line_edit, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import a_kind, as_sentence
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.building import SchedulerRefusal

_WHY = (
    "A scheduler changes the learning rates that an optimizer holds; it is "
    "built from the optimizer and stepped after it."
)
_LENGTHS = ("T_max", "total_iters", "total_steps")


def explain_scheduler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.scheduler if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.fault in ("too many steps", "no length", "whole number"):
        return explain_cycle_length(crash, fact)
    explain = {
        "no metric": _no_metric, "no optimizer": _no_optimizer, "missing": _missing, "milestones": _milestones,
        "lambdas": _lambdas, "factor": _factor, "stranger": _stranger, "count": _count, "last "
            "epoch": _last_epoch,
        "step arguments": _step_arguments, "metrics": _metrics, "mode": _mode, "step size": _step_size,
    }.get(fact.fault)  # fmt: skip
    told = explain(crash, fact) if explain is not None else None
    if told is None:
        return None
    message, why, change = told
    where = edited_place(crash, change)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    evidence |= {name: float(number) for name, number in fact.numbers.items()}
    return Blame(message, why or _WHY, as_sentence(change.text), where, evidence, 0.97, change.edit)


Told = tuple[str, str, Change]


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


def _no_metric(crash: CrashFact, fact: SchedulerRefusal) -> Told:
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


def _no_optimizer(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = f"{fact.kind} was given {a_kind(fact.given)} where it takes the optimizer."
    return message, "", _rewrite(crash, fact.kind, 0, "optimizer", fact.optimizer or "optimizer")


def _missing(crash: CrashFact, fact: SchedulerRefusal) -> Told:
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


def _milestones(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = f"MultiStepLR was given {fact.given} as its milestones, where it takes a list of epochs."
    why = "The learning rate is multiplied by `gamma` at each epoch of the list."
    place = statement_place(crash)
    both = re.search(rf"({re.escape(fact.given)}, {fact.numbers.get('second', -1)})\b", place.code or "")
    if both:
        edit = line_edit(place, both[1], f"[{both[1]}]") if "\n" not in (place.code or "") else None
        return (
            message,
            why,
            Change(f"put them into one list: `[{both[1]}]` at {place_text(place)}", edit, place),
        )
    return message, why, _rewrite(crash, fact.kind, 1, "milestones", f"[{fact.given}]")


def _lambdas(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    functions, groups = fact.numbers["functions"], fact.numbers["groups"]
    message = (
        f"{fact.kind} was given {functions} functions, and the optimizer has {groups} "
        f"parameter group{'s' if groups > 1 else ''}."
    )
    why = "A list of functions needs one for each parameter group; a single function serves all groups."
    text = (
        f"give it {groups} function{'s' if groups > 1 else ''}, or one outside "
        f"of a list, at {place_text(crash.place)}"
    )
    return message, why, Change(text, None, crash.place)


def _factor(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = f"{fact.kind} was given the number {fact.given}, where it takes a function of the epoch."
    after = f"lambda epoch: {fact.given}{' ** epoch' if fact.kind == 'LambdaLR' else ''}"
    why = "The function gets the number of the epoch and returns the factor for the learning rate."
    return message, why, _rewrite(crash, fact.kind, 1, "lr_lambda", after)


def _stranger(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = (
        f"{fact.kind} was given schedulers of different optimizers: number "
        f"{fact.numbers['index']}, a {fact.given}, has another one."
    )
    why = "Schedulers that follow each other change the rates of one optimizer."
    text = f"build all of them, and {fact.kind}, from the same optimizer"
    return message, why, Change(text, None, crash.place)


def _count(crash: CrashFact, fact: SchedulerRefusal) -> Told:
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
            f"give it {many - 1} milestone{'s' if many != 2 else ''} at {place_text(crash.place)}",
            None,
            crash.place,
        ),
    )


def _last_epoch(crash: CrashFact, fact: SchedulerRefusal) -> Told:
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


def _step_arguments(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = (
        f"`step` of {fact.kind} was given {fact.numbers['given']} arguments; "
        "it counts epochs by itself and takes none."
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


def _metrics(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = f"{fact.kind} was stepped with a {fact.given}, where it takes one number."
    why = f"{fact.kind} compares the number with the best one so far."
    text = f"give it the mean, `sum(losses) / len(losses)`, at {place_text(crash.place)}"
    return message, why, Change(text, None, crash.place)


def _mode(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = f"{fact.kind} was given the mode {fact.given}; it knows 'min' and 'max'."
    why = "'min' is for a loss, which falls; 'max' is for an accuracy, which rises."
    better = '"max"' if "acc" in fact.given else '"min"'
    return message, why, _rewrite(crash, fact.kind, 1, "mode", better)


def _step_size(crash: CrashFact, fact: SchedulerRefusal) -> Told:
    message = f"{fact.kind} was built with step_size = 0: the rate would fall every 0 epochs."
    line = place_text(fact.place) if fact.place.file else "the line that builds it"
    return (
        message,
        "`step_size` is the number of epochs between two reductions.",
        Change(f"give it a step_size of 1 or more at {line}", None, fact.place),
    )
