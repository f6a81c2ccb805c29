"""TD945: a name that torch, or a module of the user's, does not have."""

from __future__ import annotations

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, user_frame
from torch_debugger.checks.crashes.names_of_torch import (
    IMPORTS,
    PACKAGES,
    blame_known,
    explain_absent_keyword,
    explain_absent_name,
    explain_indexed_number,
    explain_missing_device,
    explain_wrong_use,
    known_name,
    renamed,
)
from torch_debugger.checks.crashes.user_code import line_replaced, rewritten, statement_of
from torch_debugger.records import CrashFact
from torch_debugger.records.crash import NameEvidence


# Attributes that a module of the user's does not have: misspelled, without `self.`, or set too late.
def explain_absent_attribute(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.kind != "layer" or name.form != "attribute":
        return None
    if crash.evidence.building is not None:
        return None  # the object was never rightly built: that is the cause
    statement = statement_of(frame, frame.module)
    where, line, confidence, edit = statement.line, place_text(statement.line), 0.95, None
    evidence: dict[str, float | str] = {"asked": name.asked, "class": name.lineage[0], "line": line_text(where)}
    evidence |= {"exist": ", ".join(name.near)} if name.near else {}
    if name.inner:
        kind = name.lineage[0].rpartition(".")[2]
        message = f"`{name.owner}` is a {kind} around the model, and has no `{name.asked}` itself."
        why = f"The wrapper keeps the model as `{name.inner}` and passes on the call, not the attributes."
        fix = f"Write `.{name.inner}.{name.asked}` instead of `.{name.asked}` at {line}."
        edit, confidence = rewritten(statement.whole, f".{name.asked}", f".{name.inner}.{name.asked}"), 0.98
    elif name.place_form:
        place, set_at, attribute = name.place, place_text(name.place), f"self.{name.asked}"
        if name.place_form == "local":
            told = f"{set_at} makes `{name.asked}` as a variable of `__init__`, which is gone when it ends"
            fix, where, code = f"Write `{attribute} =` at {set_at}.", place, place.code or ""
            edit = line_replaced(place, f"self.{code}") if code.startswith(f"{name.asked} =") else None
        elif name.place_form == "later":
            told, fix = f"`__init__` sets it only afterwards, at {set_at}", f"Move {set_at} before {line}."
        else:
            method = name.place_form.partition(" ")[2]
            told = f"only `{method}` sets it, at {set_at}, and that has not run on this object"
            fix = f"Call `{method}()` first, or set `{attribute}` in `__init__`."
        message = f"`{name.owner}` has no `{name.asked}`: {told}."
        why = "An object has the attributes that were assigned to it so far, and no others."
        evidence["set at"] = line_text(place)
    elif name.near:
        real = name.near[0]
        others = f" (or {', '.join(f'`{other}`' for other in name.near[1:])})" if name.near[1:] else ""
        message = f"`{name.owner}` has no `{name.asked}`; it has `{real}`."
        why = "An attribute is found by its exact name; this one was never set."
        fix = f"Write `{real}` instead of `{name.asked}` at {line}{others}."
        edit, confidence = renamed(statement, name.asked, real), 0.95 if len(name.near) == 1 else 0.9
    else:
        known = known_name(name)
        return blame_known(name, statement, known) if known is not None else None
    return Blame(message, why, fix, where, evidence, confidence, edit)


def explain_missing_self(crash: CrashFact) -> Blame | None:
    """A bare name in a method, of an attribute that the module does have."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "variable" or not name.inner:
        return None
    statement = statement_of(frame, frame.module)
    return Blame(
        message=f"`{name.asked}` is an attribute of the module and needs `{name.inner}.` before it.",
        why=f"In a method, `{frame.module or frame.kind or 'the module'}` is reached through `{name.inner}` alone.",
        fix=f"Write `{name.inner}.{name.asked}` instead of `{name.asked}` at {place_text(statement.line)}.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        edit=renamed(statement, name.asked, f"{name.inner}.{name.asked}"),
    )


# A variable that has no value where it is used: a name like it, or the line that would give it one.
_LOCAL = "A name that a function assigns anywhere is its own everywhere in it."


def explain_unknown_variable(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "variable" or name.inner:
        return None
    statement = statement_of(frame, None)
    line, asked = place_text(statement.line), name.asked
    others = f" (or {', '.join(f'`{each}`' for each in name.near[1:])})" if len(name.near) > 1 else ""
    if name.bound:
        told, why, fix = _bound(name)
    elif not name.binding and (name.loop_name or name.near):
        meant = name.loop_name or name.near[0]
        told = f"the loop around it calls it `{meant}`" if name.loop_name else f"`{meant}` has one"
        why, fix = "No line gives a value to that name.", f"Write `{meant}` instead of `{asked}`{others}."
    elif name.binding == "module":
        told, why = "it was never imported", "A module must be imported in each file that uses it."
        fix = f"Put `{'from tqdm import tqdm' if asked == 'tqdm' else f'import {asked}'}` at the top of the file."
    else:
        told, why = "nothing in scope resembles it", "Python knows a name only after a line has given it a value."
        fix = f"Give `{asked}` its value above {line}, or hand it in as an argument."
    known = name.loop_name or (name.near[0] if len(name.near) == 1 and not name.bound else "")
    plain = known and (statement.line.code or "").count(asked) == 1 and len(asked) > 1
    evidence: dict[str, float | str] = {"asked": asked}
    evidence |= {"in scope": ", ".join(name.near)} if name.near and not name.bound else {}
    evidence |= {"the loop has": name.loop_name} if name.loop_name else {}
    evidence |= {"assigned at": "; ".join(map(line_text, name.bound))} if name.bound else {}
    return Blame(
        message=f"`{asked}` has no value at {line}: {told}.",
        why=why,
        fix=fix,
        where=statement.line,
        evidence=evidence | {"line": line_text(statement.line)},
        confidence=0.93 if name.bound or name.loop_name or name.near or name.binding else 0.85,
        edit=rewritten(statement.line, asked, known) if plain else None,
    )


def _bound(name: NameEvidence) -> tuple[str, str, str]:
    first, asked = name.bound[0], name.asked
    line = line_text(first)
    if name.binding == "augmented":
        return (
            f"{line} adds to it, and nothing has given it a value to begin with",
            f"`{asked} += ...` reads the name first. {_LOCAL}",
            f"Put `{asked} = 0.0` before the loop that adds to it.",
        )
    if name.binding == "global":
        return (
            f"the function assigns it at {line}, so the one outside of the function is not seen here",
            _LOCAL,
            f"Hand it in as an argument and return it, or write `global {asked}` at the top of the function.",
        )
    if name.binding == "loop":
        return (
            f"only the loop at {line} gives it one, and the loop made no pass",
            "The body of a `for` over nothing never runs: an empty loader, a range that ends before it begins.",
            f"Give `{asked}` a value before the loop, and look why what it goes over is empty.",
        )
    if name.binding == "branch":
        return (
            f"only {line} gives it one, in a branch that was not taken",
            "The condition around that line was false, or an exception came first.",
            f"Give `{asked}` a value in every branch, or before them.",
        )
    if name.binding == "deleted":
        return (
            f"it is gone again after {line}",
            "`del` takes a name away, and so does the end of `except ... as name:`.",
            f"Keep it under another name before {place_text(first)} ends.",
        )
    return (
        f"{line} gives it one, and that line has not run by then",
        "A script runs from top to bottom: functions, imports and variables exist from their line on.",
        f"Move {place_text(first)} above the line that uses it.",
    )


# Packages that are not installed, forgotten imports, and an argument that became a word of Python's.
def explain_absent_package(crash: CrashFact) -> Blame | None:
    """A package around torch that is not here; of any other nothing is known."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "package" or name.owner not in PACKAGES:
        return None
    statement, advice = statement_of(frame, None), PACKAGES[name.owner]
    verb = "" if advice.startswith("`pip") else "Use "
    return Blame(
        message=f"The package `{name.owner}` is not installed in the Python that runs this script.",
        why="It is not part of torch, and no folder of the import path has it.",
        fix=f"{verb}{advice} ({place_text(statement.line)}).",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.95,
    )


def explain_forgotten_import(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "variable" or name.inner or name.asked not in IMPORTS:
        return None
    statement, line = statement_of(frame, None), IMPORTS[name.asked]
    place, at_top = statement.whole, frame.function == "<module>"
    return Blame(
        message=f"`{name.asked}` is used at {place_text(statement.line)} but was never imported.",
        why="Python knows a name only after the line that imports or assigns it has run.",
        fix=f"Put `{line}` at the top of the file.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.93,
        # Inside a function the top of the file is the better place.
        edit=line_replaced(place, f"{line}\n{place.code}") if at_top and "\n" not in (place.code or "") else None,
    )


def explain_old_syntax(crash: CrashFact) -> Blame | None:
    """x.cuda(async=True)"""
    name = crash.evidence.names
    if name is None or name.form != "syntax":
        return None
    place = name.place
    return Blame(
        message=f"`async` at {place_text(place)} is a word of Python's own since 3.7 and no longer an argument.",
        why="PyTorch renamed the argument to `non_blocking` in version 0.4; the line is from before.",
        fix=f"Write `non_blocking=` instead of `async=` at {place_text(place)}.",
        where=place,
        evidence={"line": line_text(place)},
        confidence=0.96,
        edit=rewritten(place, "async=", "non_blocking="),
    )


class NameDoesNotExist(CrashCheck):
    """A variable, function, class, attribute or keyword was used that does not exist there.

    Symptom:
        "module 'torch' has no attribute", "cannot import name", "got an unexpected keyword argument",
        "'Net' object has no attribute", "'torch.Size' object is not callable", "name 'i' is not defined",
        "cannot access local variable 'running_loss' where it is not associated with a value".
    Evidence:
        The object that was asked really lacks the name; the names that exist, and the keywords a function
        takes, are looked up in the torch that runs. Names that PyTorch removed, that other libraries have
        or that tutorials invent are known by a table.
    Fix:
        Write the name that exists, as the finding says; where the old call took other arguments, the new
        form is given.
    Known limits:
        Only variables, and names of torch, of its objects and of your own modules are explained. Where nothing
        resembles the name, that is all that is said.
    """

    id = "TD945"
    name = "name-does-not-exist"
    title = "a name that torch or the module does not have"
    explainers = (
        explain_absent_name,
        explain_absent_attribute,
        explain_missing_self,
        explain_absent_keyword,
        explain_missing_device,
        explain_wrong_use,
        explain_indexed_number,
        explain_absent_package,
        explain_forgotten_import,
        explain_unknown_variable,
        explain_old_syntax,
    )
