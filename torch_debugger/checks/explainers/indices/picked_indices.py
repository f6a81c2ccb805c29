"""Square brackets, gather, scatter, index_select and one_hot with numbers out of range."""

from __future__ import annotations

import ast
from dataclasses import replace

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.explainers.calls import argument_of, number_of, rewritten
from torch_debugger.checks.explainers.expressions import Line
from torch_debugger.checks.explainers.indices.index_words import (
    allowed_text,
    counts_from_one,
    index_evidence,
    may_count_from_one,
    wrong_text,
)
from torch_debugger.checks.explainers.indices.label_indices import scores_setting
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.statements import statement_at, written_call
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence import IndexEvidence


def explain_picked_indices(crash: CrashFact) -> Blame | None:
    found = crash.evidence.indices
    if found is None or not found.expression or _beyond_a_dataset(crash):
        return None
    if counts_from_one(found):
        return _from_one(crash, found)
    if found.operation == "one_hot":
        return _one_hot(crash, found)
    if found.operation == "[]" and not found.indices.shape:
        return _single(crash, found)
    return _scores(crash, found) or _table(crash, found)


def _beyond_a_dataset(crash: CrashFact) -> bool:
    """A sample that does not exist: the dataset's length is at fault, not this line."""
    loading = crash.evidence.loading
    failure = loading.failure if loading is not None else None
    return failure is not None and failure.stage == "sample" and failure.raised.subscripted is not None


def _from_one(crash: CrashFact, found: IndexEvidence) -> Blame:
    name = found.indices.name
    changed, edit = _with_operand(crash, found, f"{name} - 1")
    why = f"Everything in torch is numbered from 0, and `{name}` counts from 1 to {found.size}."
    return _blame(crash, found, why, f"Count from 0: write `{changed}`.", edit)


def _with_operand(crash: CrashFact, found: IndexEvidence, form: str) -> tuple[str, Edit | None]:
    frame = user_frame(crash)
    line = Line(frame) if frame is not None else None
    for node in line.all_nodes() if line is not None else ():
        if line is not None and ast.unparse(node) == found.expression:
            return change_operand(crash, line, node, found.indices.name, form)
    return form, None


def _one_hot(crash: CrashFact, found: IndexEvidence) -> Blame:
    why = "one_hot makes a row of num_classes numbers and puts a 1 at the place of the label, counted from 0."
    if found.lowest < 0:
        fix = f"Leave out or replace the labels below 0 in `{found.indices.name}` before this line."
        return _blame(crash, found, why, fix, None)
    wanted, whole = found.highest + 1, statement_at(crash, crash.place).whole
    call = written_call(whole.code or "", found.expression)
    argument = argument_of(call, 1, "num_classes") if call else None
    from_one = (
        f"; if the labels count from 1, write `{found.indices.name} - 1` instead"
        if may_count_from_one(found)
        else ""
    )
    if argument is None or number_of(argument.text) is None:
        name = f"`{argument.text}`" if argument else "num_classes"
        return _blame(crash, found, why, f"Make {name} {wanted}; it is {found.size} now{from_one}.", None)
    changed = argument.replaced(str(wanted))
    edit = rewritten(whole, argument.call, changed) if not from_one else None
    return _blame(crash, found, why, f"Write `{changed}`{from_one}.", edit)


def _scores(crash: CrashFact, found: IndexEvidence) -> Blame | None:
    """What picks from a model's outputs: the layer that gives too few of them."""
    setting = scores_setting(found.scores_from, found.highest + 1)
    if setting is None or found.lowest < 0 or found.highest >= 2 * found.size:
        return None
    from_one = "; if they count from 1, subtract 1 instead" if may_count_from_one(found) else ""
    why = f"`{setting.layer.path}` gives {found.size} outputs{setting.built_text()}, numbered from 0."
    blame = _blame(crash, found, why, setting.fix(from_one), setting.edit() if not from_one else None)
    return replace(blame, where=setting.where, confidence=0.95)


def _single(crash: CrashFact, found: IndexEvidence) -> Blame:
    """x[i], x[:, 4]"""
    name, last, asked = found.indices.name, found.size - 1, found.values[0]
    known = "" if number_of(name) is not None else f"; `{name}` is {asked} here"
    held = f"`{found.table.name}` {shape_text(found.table.shape)}" if found.table is not None else "a tensor"
    return replace(
        _blame(crash, found, _numbered(found), f"{_nearest(name, asked, last)}.", None),
        message=f"`{found.expression}` at {place_text(crash.place)} asks for number {asked} in dimension "
        f"{found.dimension} of {held}, where the last one is {last}{known}.",
    )


def _nearest(name: str, asked: int, last: int) -> str:
    if asked < 0:
        return f"Keep `{name}` at {-last - 1} or above"
    if number_of(name) is not None:
        return f"Use {last}, or -1, for the last one"
    return f"Keep `{name}` at {last} or below" + ("; a loop must end one earlier" if asked == last + 1 else "")


def _numbered(found: IndexEvidence) -> str:
    below = f", or -1 to {found.allowed} from its end" if found.allowed < 0 else ""
    return f"A dimension of {found.size} is numbered {allowed_text(found)}{below}."


def _table(crash: CrashFact, found: IndexEvidence) -> Blame:
    return _blame(crash, found, _numbered(found), f"{_advice(found)}.", None)


def _advice(found: IndexEvidence) -> str:
    name, table = found.indices.name, found.table.name if found.table is not None else "the tensor"
    sizes = found.table.shape if found.table is not None else ()
    fits = [place for place, size in enumerate(sizes) if found.highest < size]
    if found.lowest < found.allowed:
        return f"Keep `{name}` at {found.allowed} or more before this line"
    if len(fits) == 1 and found.operation != "[]":
        there = f"Dimension {fits[0]} of `{table}` has {sizes[fits[0]]}, where all of them fit"
        return f"{there}: look there if that was meant; else keep `{name}` below {found.size}"
    return (
        f"Keep `{name}` below {found.size} before this line, or give dimension {found.dimension} of `{table}` "
        f"at least {found.highest + 1}"
    )


def _blame(crash: CrashFact, found: IndexEvidence, why: str, fix: str, edit: Edit | None) -> Blame:
    where = f" makes rows of {found.size}"
    if found.table is not None:
        where = f" looks in dimension {found.dimension} of `{found.table.name}` {shape_text(found.table.shape)}"
    return Blame(
        message=f"`{found.expression}` at {place_text(crash.place)}{where}, where {allowed_text(found)} "
        f"{'is' if found.size == 1 else 'are'} allowed, but {wrong_text(found)}.",
        why=why,
        fix=fix,
        where=crash.place,
        evidence=index_evidence(found) | {"line": line_text(crash.place)},
        confidence=0.97 if edit is not None else 0.95,
        edit=edit,
    )
