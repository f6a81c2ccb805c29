"""Packages that are not installed, forgotten imports, and an argument that became a word of Python's."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.names.known_names import IMPORTS, PACKAGES
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence import NameEvidence


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
    return Blame(
        message=f"`{name.asked}` is used at {place_text(statement.line)} but was never imported.",
        why="Python knows a name only after the line that imports or assigns it has run.",
        fix=f"Put `{line}` at the top of the file.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.93,
        edit=_import_here(
            name, statement.whole.file, frame.function, statement.whole.line, statement.whole.code
        ),
    )


def _import_here(
    name: NameEvidence, file: str | None, function: str, line: int | None, code: str | None
) -> Edit | None:
    """Before the statement, where that is at the top level; inside a function the top is the better place."""
    if file is None or line is None or not code or function != "<module>" or "\n" in code:
        return None
    return Edit(file, line, code, f"{IMPORTS[name.asked]}\n{code}")


def explain_old_syntax(crash: CrashFact) -> Blame | None:
    """x.cuda(async=True)"""
    name = crash.evidence.names
    if name is None or name.form != "syntax":
        return None
    place = name.place
    return Blame(
        message=f"`async` at {place_text(place)} is a word of Python's own since 3.7 and no longer an "
        "argument.",
        why="PyTorch renamed the argument to `non_blocking` in version 0.4; the line is from before.",
        fix=f"Write `non_blocking=` instead of `async=` at {place_text(place)}.",
        where=place,
        evidence={"line": line_text(place)},
        confidence=0.96,
        edit=rewritten(place, "async=", "non_blocking="),
    )
