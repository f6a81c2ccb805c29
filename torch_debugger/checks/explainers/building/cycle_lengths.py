"""OneCycleLR and its like must know how many steps there will be: epochs x batches."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.calls import (
    argument_of,
    calls_of,
    one_line,
    parse_expression,
    rewritten,
    with_argument,
)
from torch_debugger.checks.explainers.respelling import edited_place, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import as_sentence
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.building import SchedulerRefusal

_WHY = "{kind} plans the whole curve in advance: its length is the number of times `step()` will be called."


def explain_cycle_length(crash: CrashFact, fact: SchedulerRefusal) -> Blame | None:
    told = {"too many steps": _too_many, "no length": _no_length, "whole number": _whole_number}[fact.fault]
    message, change = told(crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    evidence |= {name: float(number) for name, number in fact.numbers.items()}
    place = edited_place(crash, change)
    why = _WHY.format(kind=fact.kind)
    return Blame(message, why, as_sentence(change.text), place, evidence, 0.97, change.edit)


def _too_many(crash: CrashFact, fact: SchedulerRefusal) -> tuple[str, Change]:
    total, batches, epochs = (fact.numbers.get(name, 0) for name in ("total_steps", "batches", "epochs"))
    message = f"{fact.kind} was built for {total} steps and was stepped once more"
    if epochs and batches and epochs * batches > total:
        message += f": {epochs} epochs x {batches} batches are {epochs * batches} steps"
        return f"{message}.", _longer(fact, epochs, batches)
    text = f"give it `total_steps=` the number of all steps, epochs x batches, at {_line(crash, fact)}"
    return f"{message}.", Change(text, None, fact.place)


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


def _line(crash: CrashFact, fact: SchedulerRefusal) -> str:
    return place_text(fact.place if fact.place.file else crash.place)


def _no_length(crash: CrashFact, fact: SchedulerRefusal) -> tuple[str, Change]:
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.kind)
    message = f"{fact.kind} was not told how many steps there will be."
    if fact.given and "epochs" in fact.numbers and len(calls) == 1:
        changed = with_argument(calls[0], f"epochs={fact.numbers['epochs']}, steps_per_epoch=len({fact.given})")
        return message, Change(
            f"write `{changed}` at {place_text(place)}", rewritten(place, calls[0], changed), place
        )
    return message, Change(
        f"give it `epochs=` and `steps_per_epoch=len(loader)` at {place_text(place)}", None, place
    )


def _whole_number(crash: CrashFact, fact: SchedulerRefusal) -> tuple[str, Change]:
    name, _, value = fact.given.partition("=")
    place = statement_place(crash)
    message = f"{fact.kind} was given {name} = {value}, which is no whole number."
    calls = calls_of(place.code or "", fact.kind)
    argument = argument_of(calls[0], 99, name) if len(calls) == 1 else None
    if argument is None:
        return message, Change(f"give a whole number for {name}", None, place)
    after = argument.replaced(_rounded_up(argument.text) if float(value) >= 1 else "1")
    return message, Change(
        f"write `{after}` at {place_text(place)}", rewritten(place, argument.call, after), place
    )


def _rounded_up(text: str) -> str:
    """len(data) / 32 -> -(-len(data) // 32): the last batch counts too, though it is smaller."""
    node = parse_expression(text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"-(-{ast.unparse(node.left)} // {ast.unparse(node.right)})"
    return f"int({text})"
