"""A variable that has no value where it is used: a name like it, or the line that would give it one."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence import NameEvidence

_LOCAL = "A name that a function assigns anywhere is its own everywhere in it."


def explain_unknown_variable(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "variable" or name.inner:
        return None
    statement = statement_of(frame, None)
    found = _like_another(name) or _bound(name) or _importable(name)
    if found is None:
        found = (
            "nothing in scope resembles it",
            "Python knows a name only after a line has given it a value.",
            (
                f"Give `{name.asked}` its value above {place_text(statement.line)}, or hand it in "
                "as an argument."
            ),
        )
    told, why, fix = found
    edit = _edit(name, statement.line)
    return Blame(
        message=f"`{name.asked}` has no value at {place_text(statement.line)}: {told}.",
        why=why,
        fix=fix,
        where=statement.line,
        evidence={"asked": name.asked, **_evidence(name), "line": line_text(statement.line)},
        confidence=0.93 if name.bound or name.loop_name or name.near or name.binding else 0.85,
        edit=edit,
    )


def _evidence(name: NameEvidence) -> dict[str, float | str]:
    known: dict[str, float | str] = {"in scope": ", ".join(name.near)} if name.near and not name.bound else {}
    known |= {"the loop has": name.loop_name} if name.loop_name else {}
    return known | ({"assigned at": "; ".join(map(line_text, name.bound))} if name.bound else {})


def _meant(name: NameEvidence) -> str:
    return name.loop_name or (name.near[0] if len(name.near) == 1 and not name.bound else "")


def _like_another(name: NameEvidence) -> tuple[str, str, str] | None:
    if name.bound or name.binding or not (name.loop_name or name.near):
        return None
    meant = name.loop_name or name.near[0]
    told = f"the loop around it calls it `{meant}`" if name.loop_name else f"`{meant}` has one"
    others = f" (or {', '.join(f'`{each}`' for each in name.near[1:])})" if len(name.near) > 1 else ""
    return told, "No line gives a value to that name.", f"Write `{meant}` instead of `{name.asked}`{others}."


def _bound(name: NameEvidence) -> tuple[str, str, str] | None:
    if not name.bound:
        return None
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


def _importable(name: NameEvidence) -> tuple[str, str, str] | None:
    if name.binding != "module":
        return None
    told, why = "it was never imported", "A module must be imported in each file that uses it."
    line = "from tqdm import tqdm" if name.asked == "tqdm" else f"import {name.asked}"
    return told, why, f"Put `{line}` at the top of the file."


def _edit(name: NameEvidence, line: Place) -> Edit | None:
    meant = _meant(name)
    if meant and (line.code or "").count(name.asked) == 1 and len(name.asked) > 1:
        return rewritten(line, name.asked, meant)
    return None
