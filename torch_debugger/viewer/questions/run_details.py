"""Of the runs that are named (`names`, separated by commas, each escaped): what only their logs tell.

Answers what could be read in a short time; `pending` are the names to ask for again.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.run_lists import details_of, found_on
from torch_debugger.viewer.run_names import read_names

_WITHIN_S = 0.4
_MOST_NAMES = 100


def answer(asked: Asked) -> dict[str, Any]:
    names = read_names(asked.text("names"))[:_MOST_NAMES]
    told, pending = details_of(asked.shelf).tell(found_on(asked.shelf), names, _WITHIN_S)
    return {"runs": told, "pending": pending}
