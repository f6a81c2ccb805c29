"""One expression of a statement written in another way: the words for it, and the edit."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import place_text, user_frame
from torch_debugger.checks.explainers.calls import parse_statement
from torch_debugger.checks.explainers.statements import Change, statement_of
from torch_debugger.records import CrashFact, Edit, Place

Told = tuple[str, Change, str]  # the message, what to do, and why; an empty why stands for the explainer's own


def statement_place(crash: CrashFact) -> Place:
    """The whole statement of the user's that was running."""
    frame = user_frame(crash)
    return statement_of(frame, crash.place.module).whole if frame is not None else crash.place


def edited_place(crash: CrashFact, change: Change) -> Place:
    """The line to look at: the one the edit changes, else where the change belongs, else the crash's own."""
    if change.edit is not None:
        return Place(change.edit.file, change.edit.line, crash.place.module, change.edit.before)
    where = change.where if change.where.file else crash.place
    return Place(where.file, where.line, crash.place.module, (where.code or "").partition("\n")[0])


def respelled(place: Place, meaning: str, after: str) -> Change:
    """Write `after` where the place's code has the one expression of this meaning."""
    found = written(place, meaning)
    if found is None or found == after:
        return Change(f"write `{after}` at {place_text(place)}", None, place)
    text = f"write `{after}` instead of `{found}` at {place_text(place)}"
    return Change(text, _edit(place, meaning, after), place)


def written(place: Place, meaning: str) -> str | None:
    """The one expression of this meaning as the code has it."""
    node = _only(place, meaning)
    return ast.get_source_segment(place.code or "", node) if node is not None else None


def _only(place: Place, meaning: str) -> ast.expr | None:
    tree = parse_statement(place.code or "") if (place.code or "").isascii() else None
    nodes = (
        [node for node in ast.walk(tree) if isinstance(node, ast.expr)] if isinstance(tree, ast.Module) else []
    )
    found = [node for node in nodes if ast.unparse(node) == meaning]
    return found[0] if len(found) == 1 else None


def _edit(place: Place, meaning: str, after: str) -> Edit | None:
    node, lines = _only(place, meaning), (place.code or "").split("\n")
    if node is None or place.file is None or place.line is None or node.lineno != node.end_lineno:
        return None
    line = lines[node.lineno - 1]
    changed = line[: node.col_offset] + after + line[node.end_col_offset :]
    return Edit(place.file, place.line + node.lineno - 1, line, changed)


def line_edit(place: Place, before: str, after: str) -> Edit | None:
    """The edit of a line that holds a text once."""
    if place.file is None or place.line is None or (place.code or "").count(before) != 1:
        return None
    return Edit(place.file, place.line, place.code or "", (place.code or "").replace(before, after))
