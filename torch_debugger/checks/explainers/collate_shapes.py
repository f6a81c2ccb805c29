"""Samples of different sizes that a DataLoader puts into one batch."""

from __future__ import annotations

import os
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact

_UNEQUAL = (
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry 0 and (\[[\d, ]*\]) at entry"
)
_COLLATE = os.path.join("torch", "utils", "data", "_utils", "collate.py")


def explain_collate(crash: CrashFact) -> Blame | None:
    """When torch's own collate function raised, in this process or in a worker that hands its traceback on."""
    match = re.search(_UNEQUAL, crash.message)
    here = bool(crash.frames) and crash.frames[-1].file.endswith(_COLLATE)
    worker = crash.message.startswith("Caught RuntimeError in DataLoader worker") and _COLLATE in crash.message
    if match is None or not (here or worker):
        return None
    return Blame(
        message=f"The DataLoader read at {place_text(crash.place)} puts samples of different sizes into one "
        f"batch: {match[1]} and {match[2]}.",
        why="A batch is one tensor, so all of its samples must have one size.",
        fix="Bring all samples to one size in the dataset (resize, crop or pad), or give the DataLoader a "
        "collate_fn that pads them.",
        where=crash.place,
        evidence={"first sample": match[1], "other sample": match[2], "line": line_text(crash.place)},
        confidence=0.97,
    )
