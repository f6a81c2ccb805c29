"""Values that stood under a sure name in this process: they go from every later text too.

A password given as `--password X` comes back in an exception, a traceback, a line of output.
"""

from __future__ import annotations

import re
from json import dumps

from torch_debugger.redaction.looks import SECRET, is_label

_SHORTEST, _LONGEST, _MOST = 6, 500, 100
_values: frozenset[str] = frozenset()
_pattern: re.Pattern[str] | None = None


def remember(value: str) -> None:
    """Only what would not stand in a text by chance: a word or a path may."""
    global _values, _pattern
    if value in _values or len(_values) >= _MOST or not _is_distinct(value):
        return
    _values |= {value}
    longest_first = sorted(_values, key=len, reverse=True)
    _pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![A-Za-z0-9])")


def is_remembered_in(text: str) -> bool:
    """Of a text, or of the JSON that holds it."""
    return any(value in text or dumps(value)[1:-1] in text for value in _values)


def without_remembered(text: str) -> str:
    return text if _pattern is None else _pattern.sub(SECRET, text)


def forget() -> None:
    """For tests: a process remembers to its end."""
    global _values, _pattern
    _values, _pattern = frozenset(), None


def _is_distinct(value: str) -> bool:
    if not _SHORTEST <= len(value) <= _LONGEST or SECRET in value or is_label("", value):
        return False
    return not (value.islower() and value.isalpha()) and not value.isdigit() and value[0] not in "/.~"
