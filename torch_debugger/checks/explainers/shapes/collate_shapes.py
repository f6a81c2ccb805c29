"""Samples of different sizes that a DataLoader puts into one batch."""

from __future__ import annotations

import os
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import OddPart

_UNEQUAL = (
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry 0 and (\[[\d, ]*\]) at entry"
)
# The batch's shared memory was made for the numbers that the samples have in all.
_NO_ROOM = "resize storage"
_SIZE = r"^((?:tensor|ndarray) \w+) (\[[\d, ]*\])$"
_COLLATE = os.path.join("torch", "utils", "data", "_utils", "collate.py")


def explain_collate(crash: CrashFact) -> Blame | None:
    """When torch's own collate function raised, in this process or in a worker that hands its traceback on."""
    here = bool(crash.frames) and crash.frames[-1].file.endswith(_COLLATE)
    worker = crash.message.startswith("Caught RuntimeError in DataLoader worker") and _COLLATE in crash.message
    sizes = _told(crash) or _seen(crash)
    if not (here or worker) or (sizes is None and _NO_ROOM not in crash.message):
        return None
    shown = {"first sample": sizes[0], "other sample": sizes[1]} if sizes else {}
    return Blame(
        message=f"The DataLoader read at {place_text(crash.place)} puts samples of different sizes into one "
        f"batch{_differing(crash, sizes)}.",
        why="A batch is one tensor, so all of its samples must have one size.",
        fix="Bring all samples to one size in the dataset (resize, crop or pad), or give the DataLoader a "
        "collate_fn that pads them.",
        where=crash.place,
        evidence={**shown, "line": line_text(crash.place)},
        confidence=0.97 if sizes else 0.85,
    )


def _odd_part(crash: CrashFact) -> OddPart | None:
    loading = crash.evidence.loading
    return loading.failure.odd if loading is not None and loading.failure is not None else None


def _differing(crash: CrashFact, sizes: tuple[str, str] | None) -> str:
    """: sample 622 has [1, 1800] in `sample['wave']`, the others [1, 2000]"""
    odd = _odd_part(crash)
    ragged = ragged_sizes(odd) if odd is not None else None
    if odd is None or ragged is None or len(odd.samples) != 1:
        return f": {sizes[0]} and {sizes[1]}" if sizes else ""
    part = f" in `sample{odd.path}`" if odd.path else ""
    return f": sample {odd.samples[0]} has {ragged[1]}{part}, the others {ragged[0]}"


def _told(crash: CrashFact) -> tuple[str, str] | None:
    match = re.search(_UNEQUAL, crash.message)
    return (match[1], match[2]) if match is not None else None


def _seen(crash: CrashFact) -> tuple[str, str] | None:
    """A worker that cannot enlarge the batch's shared memory does not tell the sizes; the samples do."""
    odd = _odd_part(crash)
    return ragged_sizes(odd) if odd is not None and _NO_ROOM in crash.message else None


def ragged_sizes(odd: OddPart) -> tuple[str, str] | None:
    """The sizes of two samples that differ in nothing else: [7] and [8]."""
    rare, usual = re.search(_SIZE, odd.kind), re.search(_SIZE, odd.usual)
    alike = rare is not None and usual is not None and rare[1] == usual[1]
    return (usual[2], rare[2]) if alike and rare is not None and usual is not None else None
