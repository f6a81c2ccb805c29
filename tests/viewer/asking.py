"""Asks a question as the server does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch_debugger.viewer.questions import Query, find_answer
from torch_debugger.viewer.shown_runs import ShownRuns


def ask(shown_runs: ShownRuns, question: str, **given: str) -> Any:
    """What arrives in the browser: JSON without NaN."""
    answer = find_answer(question)
    assert answer is not None
    return json.loads(json.dumps(answer(Query(shown_runs, given)), allow_nan=False))


def shown_runs_of(folder: Path) -> ShownRuns:
    return ShownRuns({"": str(folder)})
