"""A checkpoint that torch.save could not write: no such folder, or no room."""

from __future__ import annotations

import os

from torch_debugger.checks.explainers.blame import Blame, place_text, user_frame
from torch_debugger.checks.explainers.checkpoints.checkpoint_files import bytes_text, file_evidence
from torch_debugger.checks.explainers.statements import Statement, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.checkpoints import FileFact

_NO_SPACE = 28  # errno ENOSPC
_STOPPED = ("file write failed", "iostream error", "unexpected pos")  # torch's archive writer tells no errno


def explain_unwritten_file(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    file = evidence.file if evidence is not None else None
    if file is None or frame is None or not file.writing:
        return None
    statement = statement_of(frame, None)
    if not file.parent_exists:
        return _no_folder(file, statement)
    if file.folder:
        return _is_folder(file, statement)
    return _no_room(crash, file, statement)


def _no_folder(file: FileFact, statement: Statement) -> Blame:
    folder = os.path.dirname(file.path)
    made = f'{file.os_name or "os"}.makedirs("{folder}", exist_ok=True)'
    return Blame(
        message=f"torch.save could not write `{file.path}`: there is no folder `{folder}`.",
        why="torch.save makes the file but not the folder it goes into.",
        fix=f"Make the folder before {place_text(statement.line)}: `{made}`.",
        where=statement.line,
        evidence=file_evidence(file, statement),
        confidence=0.98,
        edit=_before(statement, [*([] if file.os_name else ["import os"]), made]),
    )


def _before(statement: Statement, lines: list[str]) -> Edit | None:
    place = statement.whole
    if place.file is None or place.line is None or not place.code:
        return None
    first = place.code.partition("\n")[0]
    return Edit(place.file, place.line, first, "\n".join([*lines, first]))


def _is_folder(file: FileFact, statement: Statement) -> Blame:
    return Blame(
        message=f"torch.save was given `{file.path}`, which is a folder.",
        why="torch.save writes one file and needs its name.",
        fix=f"Add a file name at {place_text(statement.line)}: `{os.path.join(file.path, 'checkpoint.pt')}`.",
        where=statement.line,
        evidence=file_evidence(file, statement),
        confidence=0.98,
    )


def _no_room(crash: CrashFact, file: FileFact, statement: Statement) -> Blame | None:
    """By the free bytes; else by the errno; else only that the write stopped short."""
    short = 0 <= file.free_bytes < file.expected_bytes - file.size_bytes
    told = crash.attributes.get("errno") == _NO_SPACE or _NO_SPACE in _errnos(crash)
    stopped = any(words in crash.message for words in _STOPPED)
    if not (short or told or (stopped and file.size_bytes < file.expected_bytes)):
        return None
    room = (
        f"{bytes_text(file.free_bytes)} are free there"
        if file.free_bytes >= 0
        else "the free room is not known"
    )
    doubt = (
        "" if short else " The free room alone does not explain it: look for a quota or a limit on file size."
    )
    return Blame(
        message=(
            f"Writing `{os.path.basename(file.path)}` stopped after {bytes_text(file.size_bytes)} of at least "
            f"{bytes_text(file.expected_bytes)}; {room}."
        ),
        why=f"The disk took no more bytes, so the file is cut short and cannot be loaded.{doubt}",
        fix=(
            f"Free some room or save somewhere else at {place_text(statement.line)}; delete this file, and "
            "keep fewer "
            "old checkpoints. Saving to a temporary name and renaming it afterwards keeps the last good file."
        ),
        where=statement.line,
        evidence=file_evidence(file, statement),
        confidence=0.95 if short or told else 0.8,
    )


def _errnos(crash: CrashFact) -> list[str | int | None]:
    return [cause.attributes.get("errno") for cause in crash.causes]
