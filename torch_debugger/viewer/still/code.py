"""The code around a place as it was when the run was made."""

from __future__ import annotations

import os

from torch_debugger.archive.run import Run
from torch_debugger.records import Place
from torch_debugger.redaction import redact_text
from torch_debugger.report.source import SourceLine, excerpt, excerpt_of


class CodeReader:
    """The script from the log, which holds it; other files from the disk, if nobody has written them since."""

    def __init__(self, run: Run) -> None:
        facts = run.facts
        self._folder = facts.run.folder if facts.run else ""
        self._changed = run.changed
        around = facts.surroundings
        self._script = self._path(around.script) if around is not None and around.source else None
        self._lines = around.source.expandtabs(4).split("\n") if around is not None else []

    def around(self, place: Place) -> list[SourceLine]:
        if place.file is None:
            return []
        path = self._path(place.file)
        if path == self._script:
            return excerpt_of(self._lines, place)
        if not self._is_unchanged(path):
            return excerpt_of([], place)
        return [
            SourceLine(line.number, redact_text(line.text), line.marked)
            for line in excerpt(place, self._folder)
        ]

    def _path(self, file: str) -> str:
        return os.path.normpath(os.path.join(self._folder, file))

    def _is_unchanged(self, path: str) -> bool:
        try:
            return os.path.getmtime(path) <= self._changed
        except (OSError, ValueError):  # ValueError: a null character in the path
            return False
