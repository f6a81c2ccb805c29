"""Attributes and imported names that torch does not have: the real one, near by, elsewhere or known."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.names.known_names import KNOWN, Known
from torch_debugger.checks.explainers.statements import Statement, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence import NameEvidence

_FORMS = ("attribute", "import", "removed", "called")


def explain_absent_name(crash: CrashFact) -> Blame | None:
    """A name of torch's modules, classes and objects."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form not in _FORMS or name.kind == "layer":
        return None
    if name.owner.startswith("torch.autograd.function."):  # the ctx of a Function of the user's own
        return None
    statement = statement_of(frame, None)
    known = known_name(name)
    if known is not None:
        return blame_known(name, statement, known)
    if name.form in ("removed", "called"):
        return None
    return _nearest(name, statement)


def known_name(name: NameEvidence) -> Known | None:
    """By the owner's name, or that of a class it derives from; of a called module by its own."""
    if name.form == "called" and name.kind == "module":
        return KNOWN.get(name.owner)
    return next((KNOWN[key] for owner in name.lineage if (key := f"{owner}.{name.asked}") in KNOWN), None)


def blame_known(name: NameEvidence, statement: Statement, known: Known) -> Blame:
    offered = bool(known.ours) and known.ours.partition(".")[0] in name.ours
    ours = f" `torch_debugger.{known.ours}` does what was meant." if offered else ""
    return Blame(
        message=f"{_told(name)}.",
        why=f"{known.why}.",
        fix=f"At {place_text(statement.line)} use {known.instead}.{ours}",
        where=statement.line,
        evidence=_evidence(name, statement),
        confidence=0.97,
        edit=_known_edit(name, statement, known),
    )


def _known_edit(name: NameEvidence, statement: Statement, known: Known) -> Edit | None:
    if known.rename:
        return renamed(statement, name.asked, known.rename)
    if known.around:
        return _around(statement, name.asked, known.around)
    written = f"{name.owner}.{name.asked}"
    return rewritten(statement.whole, f"{written}(", f"{known.drop_in}(") if known.drop_in else None


def _around(statement: Statement, asked: str, function: str) -> Edit | None:
    """iter(loader).next() -> next(iter(loader))"""
    found = re.findall(rf"([\w.]+(?:\([\w.]*\))?)\.{asked}\(\)", statement.whole.code or "")
    if len(found) != 1:
        return None
    return rewritten(statement.whole, f"{found[0]}.{asked}()", f"{function}({found[0]})")


def _told(name: NameEvidence) -> str:
    if name.form == "called" and name.kind == "module":
        return f"`{name.owner}` is a module and cannot be called"
    if name.form == "removed":
        return f"`{name.owner}.{name.asked}` is gone"
    if name.form == "import":
        return f"There is no `{name.asked}` in `{name.owner}`"
    private = name.owner.rpartition(".")[2].startswith("_")
    owner = "A tensor" if name.kind == "tensor" else "That object of torch's" if private else f"`{name.owner}`"
    return f"{owner} has no `{name.asked}`"


def _nearest(name: NameEvidence, statement: Statement) -> Blame | None:
    real = name.near[0] if name.near else ""
    if not real and not name.elsewhere:
        return _nothing_near(name, statement)
    if real:
        others = f" (or {', '.join(f'`{other}`' for other in name.near[1:])})" if name.near[1:] else ""
        advice = f"Write `{real}` instead of `{name.asked}` at {place_text(statement.line)}{others}."
        told, edit = f"it has `{real}`", renamed(statement, name.asked, real)
    else:
        told, advice, edit = _moved(name, statement)
    return Blame(
        message=f"{_told(name)}; {told}.",
        why="The names were looked up in the torch that runs here.",
        fix=advice,
        where=statement.line,
        evidence=_evidence(name, statement),
        confidence=0.95 if len(name.near) < 2 else 0.9,
        edit=edit,
    )


def _moved(name: NameEvidence, statement: Statement) -> tuple[str, str, Edit | None]:
    full = name.elsewhere[0]
    home = full.rpartition(".")[0]
    told = f"it is in `{home}`" if home != "torch.Tensor" else "tensors have it"
    if home == "torch.Tensor":
        return told, f"Call it on the tensor at {place_text(statement.line)}: `x.{name.asked}(...)`.", None
    if name.form == "import":
        edit = rewritten(statement.whole, f"from {name.owner} import", f"from {home} import")
        return told, f"Write `from {home} import {name.asked}` at {place_text(statement.line)}.", edit
    written = f"{name.owner}.{name.asked}"
    return (
        told,
        f"Write `{full}` instead of `{written}` at {place_text(statement.line)}.",
        rewritten(statement.whole, written, full),
    )


def _nothing_near(name: NameEvidence, statement: Statement) -> Blame | None:
    """Torch's own module or object really lacks it, and nothing resembles it: that much is certain."""
    if name.kind == "object" and not name.owner.startswith(("torch.", "torch_debugger.")):
        return None
    return Blame(
        message=f"{_told(name)}, nor anything of a similar name.",
        why="The names were looked up in the torch that runs here: this one is of another version, of another "
        "library, or invented.",
        fix=f"Look up in torch's documentation what {place_text(statement.line)} is meant to do.",
        where=statement.line,
        evidence=_evidence(name, statement),
        confidence=0.85,
    )


def renamed(statement: Statement, before: str, after: str) -> Edit | None:
    """The one place in the statement where the name stands as a whole word."""
    code = statement.whole.code or ""
    found = re.findall(rf"[\w.]*\b{re.escape(before)}\b(?!\s*=[^=])", code)
    if len(found) != 1 or code.count(found[0]) != 1:
        return None
    kept = found[0][: -len(before)]
    return rewritten(statement.whole, found[0], f"{kept}{after}")


def _evidence(name: NameEvidence, statement: Statement) -> dict[str, float | str]:
    told: dict[str, float | str] = {"asked": name.asked, "of": name.owner, "line": line_text(statement.line)}
    if name.near:
        told["exist"] = ", ".join(name.near)
    return told | {"torch": name.version}
