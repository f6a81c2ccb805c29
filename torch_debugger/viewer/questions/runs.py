"""All runs in one table, as far as their result files tell.

`since` is the version of an earlier answer: where nothing has changed, the rows are null.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.run_lists import found_on, rows_of

_WITHIN_S = 0.7


def answer(asked: Asked) -> dict[str, Any]:
    return rows_of(asked.shelf).tell(found_on(asked.shelf), _WITHIN_S, asked.text("since"))._asdict()
