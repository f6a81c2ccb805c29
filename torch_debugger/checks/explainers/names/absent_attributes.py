"""Attributes that a module of the user's does not have: misspelled, without `self.`, or set too late."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.names.absent_names import blame_known, known_name, renamed
from torch_debugger.checks.explainers.statements import Statement, statement_of
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence import NameEvidence


def explain_absent_attribute(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.kind != "layer" or name.form != "attribute":
        return None
    if crash.evidence.building is not None:
        return None  # the object was never rightly built: that is the cause
    statement = statement_of(frame, frame.module)
    if name.inner:
        return _wrapped(name, statement)
    if name.place_form:
        return _set_elsewhere(name, statement)
    if name.near:
        return _misspelled(name, statement)
    known = known_name(name)
    return blame_known(name, statement, known) if known is not None else None


def _wrapped(name: NameEvidence, statement: Statement) -> Blame:
    kind = name.lineage[0].rpartition(".")[2]
    return Blame(
        message=f"`{name.owner}` is a {kind} around the model, and has no `{name.asked}` itself.",
        why=f"The wrapper keeps the model as `{name.inner}` and passes on the call, not the attributes.",
        fix=f"Write `.{name.inner}.{name.asked}` instead of `.{name.asked}` at {place_text(statement.line)}.",
        where=statement.line,
        evidence=_evidence(name, statement),
        confidence=0.98,
        edit=rewritten(statement.whole, f".{name.asked}", f".{name.inner}.{name.asked}"),
    )


def _set_elsewhere(name: NameEvidence, statement: Statement) -> Blame:
    place, attribute = name.place, f"self.{name.asked}"
    if name.place_form == "local":
        told = (
            f"{place_text(place)} makes `{name.asked}` as a variable of `__init__`, which is gone when it ends"
        )
        fix, where, edit = (
            (f"Write `{attribute} =` at {place_text(place)}."),
            place,
            _with_self(place, name.asked),
        )
    elif name.place_form == "later":
        told = f"`__init__` sets it only afterwards, at {place_text(place)}"
        fix, where, edit = (
            (f"Move {place_text(place)} before {place_text(statement.line)}."),
            statement.line,
            None,
        )
    else:
        method = name.place_form.partition(" ")[2]
        told = f"only `{method}` sets it, at {place_text(place)}, and that has not run on this object"
        fix = f"Call `{method}()` first, or set `{attribute}` in `__init__`."
        where, edit = statement.line, None
    return Blame(
        message=f"`{name.owner}` has no `{name.asked}`: {told}.",
        why="An object has the attributes that were assigned to it so far, and no others.",
        fix=fix,
        where=where,
        evidence=_evidence(name, statement) | {"set at": line_text(place)},
        confidence=0.95,
        edit=edit,
    )


def _with_self(place: Place, asked: str) -> Edit | None:
    code = place.code or ""
    if place.file is None or place.line is None or not code.startswith(f"{asked} ="):
        return None
    return Edit(place.file, place.line, code, f"self.{code}")


def _misspelled(name: NameEvidence, statement: Statement) -> Blame:
    real = name.near[0]
    others = f" (or {', '.join(f'`{other}`' for other in name.near[1:])})" if name.near[1:] else ""
    return Blame(
        message=f"`{name.owner}` has no `{name.asked}`; it has `{real}`.",
        why="An attribute is found by its exact name; this one was never set.",
        fix=f"Write `{real}` instead of `{name.asked}` at {place_text(statement.line)}{others}.",
        where=statement.line,
        evidence=_evidence(name, statement),
        confidence=0.95 if len(name.near) == 1 else 0.9,
        edit=renamed(statement, name.asked, real),
    )


def _evidence(name: NameEvidence, statement: Statement) -> dict[str, float | str]:
    told: dict[str, float | str] = {
        "asked": name.asked,
        "class": name.lineage[0],
        "line": line_text(statement.line),
    }
    return told | ({"exist": ", ".join(name.near)} if name.near else {})


def explain_missing_self(crash: CrashFact) -> Blame | None:
    """A bare name in a method, of an attribute that the module does have."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "variable" or not name.inner:
        return None
    statement = statement_of(frame, frame.module)
    return Blame(
        message=f"`{name.asked}` is an attribute of the module and needs `{name.inner}.` before it.",
        why=f"In a method, `{frame.module or frame.kind or 'the module'}` is reached through `{name.inner}` "
        "alone.",
        fix=f"Write `{name.inner}.{name.asked}` instead of `{name.asked}` at {place_text(statement.line)}.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.97,
        edit=renamed(statement, name.asked, f"{name.inner}.{name.asked}"),
    )
