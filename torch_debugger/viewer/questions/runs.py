"""All runs in one table, as far as their result files tell.

`since` is the version of an earlier answer: where nothing has changed, the rows are null.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.run_lists import rows_of

_WITHIN_S = 0.7


def answer(asked: Asked) -> dict[str, Any]:
    rows, pending = rows_of(asked.shelf).tell(asked.shelf.found(), _WITHIN_S)
    version = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
    same = asked.text("since") == version
    return {"version": version, "rows": None if same else rows, "pending": pending}
