"""Names that were asked for and are not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from torch_debugger.errors import DebuggerError

_MOST_NAMED = 8


class NotInArchiveError(DebuggerError, KeyError):
    """A tag or a run that is not there; its text says which ones are."""

    def __str__(self) -> str:
        return str(self.args[0])


def missing(kind: str, asked: str, there: Sequence[str], run: str) -> NotInArchiveError:
    return NotInArchiveError(f"The run {run!r} has no {kind} {asked!r}. {_what_there_is(asked, there)}")


def missing_run(asked: str, there: Sequence[str], folder: str) -> NotInArchiveError:
    return NotInArchiveError(f"There is no run {asked!r} in {folder!r}. {_what_there_is(asked, there)}")


def _what_there_is(asked: str, there: Sequence[str]) -> str:
    if not there:
        return "There are none at all."
    near = difflib.get_close_matches(asked, there[:1000], _MOST_NAMED) or list(there[:_MOST_NAMED])
    more = f", and {len(there) - len(near)} more" if len(there) > len(near) else ""
    return f"There are {', '.join(map(repr, near))}{more}."
