"""The user's code as the log keeps it: the whole script, and single lines of other files.

Secrets were masked when it was written. No file of the disk is read: whoever looks at the page may sit at
another machine than the script.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from torch_debugger.archive.run import Run
from torch_debugger.records import CrashFact, CrashFrame, Edit, LossSite, ModelFact, Place
from torch_debugger.report.source import excerpt_of

_AROUND = 4  # lines before and behind the one that is meant


@dataclass(frozen=True)
class KeptCode:
    folder: str
    script: str = ""
    lines: list[str] = field(default_factory=list)
    known: dict[tuple[str, int], str] = field(default_factory=dict)  # single lines, by file and number

    def excerpt(self, place: Place, edit: Edit | None = None) -> list[dict[str, object]]:
        """The line with its neighbours, or alone where only that is known; nothing where not even that is."""
        if place.file is None or place.line is None:
            return []
        path = self.whole_path(place.file)
        code = place.code or self._code_of(path, place, edit)
        lines = self.lines if path == self.script else []
        found = excerpt_of(lines, Place(path, place.line, code=code), _AROUND, _AROUND)
        return [{"number": each.number, "text": each.text, "marked": each.marked} for each in found]

    def _code_of(self, path: str, place: Place, edit: Edit | None) -> str | None:
        known = self.known.get((path, place.line or 0))
        if known is None and edit is not None and edit.line == place.line and edit.before:
            return edit.before.split("\n")[0].strip()
        return known

    def indent(self, file: str, line: int) -> str:
        """How far the line stands from the left; nothing where only its words are known."""
        known = self.lines if self.whole_path(file) == self.script else []
        text = known[line - 1] if 0 < line <= len(known) else ""
        return text[: len(text) - len(text.lstrip())]

    def whole_path(self, file: str) -> str:
        """A script that was started by a relative path is written so in the log."""
        return os.path.normpath(os.path.join(self.folder, file))


def kept_code(run: Run) -> KeptCode:
    facts = run.facts
    around, folder = facts.surroundings, facts.run.folder if facts.run else ""
    code = KeptCode(folder)
    if around is not None and around.source:
        lines = around.source.expandtabs(4).split("\n")
        code = KeptCode(folder, code.whole_path(around.script), lines)
    for place in _places(run):
        if place.file and place.line and place.code:
            code.known.setdefault((code.whole_path(place.file), place.line), place.code)
    return code


def _places(run: Run) -> list[Place]:
    found: list[Place] = []
    for record in run.records(CrashFact, LossSite, ModelFact):
        match record:
            case CrashFact():
                found += [_of_frame(each) for each in record.frames]
            case LossSite():
                found.append(record.place)
            case ModelFact():
                found += [module.place for module in record.modules]
            case _:
                pass
    return found


def _of_frame(frame: CrashFrame) -> Place:
    return Place(frame.file, frame.code_line or frame.line, code=frame.code.split("\n")[0])
