"""Pasted tracebacks whose message says it all: what to say of each, as data."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import Blame
from torch_debugger.checks.explainers.texts.text_reading import read
from torch_debugger.records import CrashFact


@dataclass(frozen=True, slots=True)
class TextRule:
    """A message of torch's, the files or the line it comes from, and the words; named groups fill them in."""

    message: str
    told: str  # {at} is the user's line
    why: str
    fix: str
    unknown: str
    through: str = ""
    line: str = ""
    outside: str = ""  # a file of which no frame may be: there the same message means something else


def explain_by(*rules: TextRule) -> functools.partial[Blame | None]:
    """An explainer that tries these rules in their order."""
    return functools.partial(_first, rules)


def _first(rules: tuple[TextRule, ...], crash: CrashFact) -> Blame | None:
    for rule in rules:
        if rule.outside and any(re.search(rule.outside, frame.file) for frame in crash.frames):
            continue
        told = read(crash, rule.message, through=rule.through, line=rule.line)
        if told is not None:
            words = {name: text for name, text in told.match.groupdict().items() if text is not None}
            filled = [text.format(at=told.at, **words) for text in (rule.told, rule.why, rule.fix)]
            return told.blame(filled[0], filled[1], filled[2], rule.unknown, **words)
    return None
