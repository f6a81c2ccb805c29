"""Keywords that a function of torch's does not take, and things of a tensor that are used the wrong way."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.names.absent_names import blame_known
from torch_debugger.checks.explainers.names.known_names import INVENTED_KEYWORDS, SYNONYMS, Known
from torch_debugger.checks.explainers.statements import Statement, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence import NameEvidence

_SHOWN = 8


def explain_absent_keyword(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "keyword":
        return None
    statement = statement_of(frame, None)
    known = _invented(name)
    if known is not None:
        return _of_a_known_call(name, statement, known)
    real = _real(name)
    return _blame(name, statement, real)


def _invented(name: NameEvidence) -> Known | None:
    owners = (name.owner, *name.lineage)
    return next((INVENTED_KEYWORDS[owner] for owner in owners if owner in INVENTED_KEYWORDS), None)


def _of_a_known_call(name: NameEvidence, statement: Statement, known: Known) -> Blame:
    told = blame_known(name, statement, known)
    refused = " and ".join(f"`{word}`" for word in name.refused)
    return Blame(
        message=f"`{name.owner}` takes no {refused}.",
        why=told.why,
        fix=told.fix,
        where=told.where,
        evidence=told.evidence,
        confidence=told.confidence,
        edit=_in_other_form(statement, name, known),
    )


def _in_other_form(statement: Statement, name: NameEvidence, known: Known) -> Edit | None:
    if known.drop_in:
        return rewritten(statement.whole, f"{name.owner}(", f"{known.drop_in}(")
    return _without(statement, name.refused)


def _without(statement: Statement, refused: tuple[str, ...]) -> Edit | None:
    """The call on its one line, without these keywords."""
    code = statement.whole.code or ""
    changed = code
    for word in refused:
        changed = re.sub(rf",?\s*\b{word}\s*=\s*[\w.]+", "", changed, count=1)
    return rewritten(statement.whole, code, changed.replace("(, ", "(")) if "\n" not in code else None


def _real(name: NameEvidence) -> str:
    """The keyword that was meant: another word for it, else one that is spelled alike."""
    synonyms = [word for word in SYNONYMS.get(name.asked, ()) if word in name.keywords]
    return (synonyms or list(name.near) or [""])[0]


def _blame(name: NameEvidence, statement: Statement, real: str) -> Blame:
    taken = ", ".join(f"`{word}`" for word in name.keywords[:_SHOWN])
    more = f" and {len(name.keywords) - _SHOWN} more" if len(name.keywords) > _SHOWN else ""
    if real:
        fix = f"Write `{real}=` instead of `{name.asked}=` at {place_text(statement.line)}."
    else:
        fix = f"Take `{name.asked}=` out at {place_text(statement.line)}; what it still takes is {taken}{more}."
    return Blame(
        message=f"`{name.owner}` takes no `{name.asked}`{f'; it takes `{real}`' if real else ''}.",
        why="Its arguments were looked up in the torch that runs here.",
        fix=fix,
        where=statement.line,
        evidence={
            "asked": name.asked,
            "taken": taken.replace("`", "") + more,
            "line": line_text(statement.line),
        },
        confidence=0.96 if real else 0.92,
        edit=_renaming(statement, name.asked, real) if real else None,
    )


def _renaming(statement: Statement, before: str, after: str) -> Edit | None:
    found = re.findall(rf"\b{re.escape(before)}\s*=(?!=)", statement.whole.code or "")
    if len(found) != 1:
        return None
    return rewritten(statement.whole, found[0], found[0].replace(before, after))


def explain_missing_device(crash: CrashFact) -> Blame | None:
    """torch.amp.autocast() without the device that its CUDA-only forerunner did not need."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "missing-argument" or name.asked != "device_type":
        return None
    statement = statement_of(frame, None)
    return Blame(
        message=f"`{name.owner}` was called without the device it is for.",
        why="torch.cuda.amp.autocast() knew its device; torch.amp.autocast is for all, so `device_type` comes "
        "first.",
        fix=f'Name the device at {place_text(statement.line)}: `autocast("cuda")`, or `autocast("cpu")` '
        "without a GPU.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.96,
    )


def explain_wrong_use(crash: CrashFact) -> Blame | None:
    """x.shape() and x.size[0]"""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.kind != "tensor" or name.form not in ("called", "indexed"):
        return None
    statement, asked = statement_of(frame, None), name.asked
    if name.form == "called":
        told, before, after = "is a value and not a method", f".{asked}(", f".{asked}"
        fix = f"Write `.{asked}` without parentheses at {place_text(statement.line)}"
        fix += "; `.size()` is the method." if asked == "shape" else "."
        edit = _uncalled(statement, asked)
    else:
        told, before, after = "is a method and cannot be indexed", f".{asked}[", ".shape["
        real = "`.shape[...]`" if asked == "size" else f"`.{asked}(...)[...]`"
        fix = f"Write {real} at {place_text(statement.line)}."
        edit = rewritten(statement.whole, before, after) if asked == "size" else None
    return Blame(
        message=f"`.{asked}` of a tensor {told}.",
        why="Python calls what stands before `(` and indexes what stands before `[`.",
        fix=fix,
        where=statement.line,
        evidence={"asked": asked, "line": line_text(statement.line)},
        confidence=0.97,
        edit=edit,
    )


def explain_indexed_number(crash: CrashFact) -> Blame | None:
    """loss.data[0]"""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "number":
        return None
    statement = statement_of(frame, None)
    return Blame(
        message=f"`{name.owner}` is a single number without dimensions, so there is no `[0]` of it.",
        why="Since PyTorch 0.4 a loss has no dimension; before, it had one of size 1.",
        fix=f"Write `{name.owner}.item()` instead of `{name.asked}` at {place_text(statement.line)}.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.97,
        edit=rewritten(statement.whole, name.asked, f"{name.owner}.item()"),
    )


def _uncalled(statement: Statement, asked: str) -> Edit | None:
    """Only an empty pair of parentheses; x.shape(0) becomes x.shape[0]."""
    found = re.findall(rf"\.{asked}\(\s*(-?\d*)\s*\)", statement.whole.code or "")
    if len(found) != 1:
        return None
    index = f"[{found[0]}]" if found[0] else ""
    return rewritten(statement.whole, f".{asked}({found[0]})", f".{asked}{index}")
