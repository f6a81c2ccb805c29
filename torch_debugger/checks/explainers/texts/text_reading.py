"""A pasted traceback: numbers of torch's message, taken where the lines of the traceback agree with it.

There are no tensors here, so that much stays unknown; each explanation says what.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.records import CrashFact, CrashFrame, Place

_CONFIDENCE, _BARE_CONFIDENCE = 0.8, 0.6
MORE = "Paste the whole traceback, or run the script under `torch-debugger run`, for the line and its shapes."
_CODE_LENGTH = 120
_OWN_RAISE = re.compile(r"raise\b")


@dataclass(frozen=True, slots=True)
class Reading:
    """A message of torch's, and the user's line that led to it."""

    crash: CrashFact
    frame: CrashFrame | None  # of a message without a traceback there is none
    match: re.Match[str]

    @property
    def code(self) -> str:
        """The expression that raised, where carets mark it, else its line."""
        if self.frame is None:
            return ""
        return self.frame.failing or " ".join(self.frame.code.split())[:_CODE_LENGTH]

    @property
    def at(self) -> str:
        """`self.fc1(x)` at net.py:31"""
        if self.frame is None:
            return "a line of yours"
        return f"`{self.code}` at {place_text(self.place)}" if self.code else place_text(self.place)

    @property
    def place(self) -> Place:
        return self.crash.place

    def number(self, group: int) -> int:
        return int(self.match[group])

    def sizes(self, group: int) -> tuple[int, ...]:
        return tuple(int(size) for size in re.findall(r"-?\d+", self.match[group]))

    def blame(self, told: str, why: str, fix: str, unknown: str, **evidence: float | str) -> Blame:
        if self.frame is None:
            return Blame(
                message=f"From the message alone: {told}",
                why=why,
                fix=f"{fix} Not known from the message: which line it was, and {unknown}. {MORE}",
                where=self.place,
                evidence=dict(evidence),
                confidence=_BARE_CONFIDENCE,
            )
        return Blame(
            message=f"From the text alone: {told}",
            why=why,
            fix=f"{fix} Not known from the text: {unknown}. `torch-debugger run` on the script shows it.",
            where=self.place,
            evidence={**evidence, "line": line_text(self.place)},
            confidence=_CONFIDENCE,
        )


def read(crash: CrashFact, message: str, *, through: str = "", line: str = "") -> Reading | None:
    """The message, when it came out of torch: through files, or from a line, that this message comes from."""
    frame = user_frame(crash)
    if crash.pasted and not crash.frames:
        found = re.search(message, crash.message)
        return Reading(crash, None, found) if found is not None else None
    if not crash.pasted or frame is None or _OWN_RAISE.match(frame.code):
        return None
    behind = [each.file for each in crash.frames[len(crash.frames) - crash.frames[::-1].index(frame) :]]
    if not all("/torch/" in file for file in behind):
        return None
    came_through = bool(through) and any(re.search(through, file) for file in behind)
    stands_there = bool(line) and not behind and re.search(line, frame.failing or frame.code) is not None
    match = re.search(message, crash.message)
    return Reading(crash, frame, match) if match is not None and (came_through or stands_there) else None
