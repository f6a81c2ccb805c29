"""Asks a question as the server does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch_debugger.viewer.questions import Asked, find_answer
from torch_debugger.viewer.shown_runs import ShownRuns as RunShelf


def ask(shelf: RunShelf, question: str, **given: str) -> Any:
    """What arrives in the browser: JSON without NaN."""
    answer = find_answer(question)
    assert answer is not None
    return json.loads(json.dumps(answer(Asked(shelf, given)), allow_nan=False))


def shelf_of(folder: Path) -> RunShelf:
    return RunShelf({"": str(folder)})
